{{/*
Checks that the schema cannot express. Some read objects of the cluster; in `helm template`, which has no
cluster, these find nothing.
*/}}
{{- define "paddlejob-operator.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.operator.leaderElect) }}
{{- fail "replicas: more than one needs operator.leaderElect, or all pods would write" }}
{{- end }}
{{- if and (not .Values.operator.leaderElect) (eq (toString (get .Values.strategy "type")) "RollingUpdate") }}
{{- fail "strategy: without operator.leaderElect it must be Recreate, or two pods would write" }}
{{- end }}
{{- $metrics := include "paddlejob-operator.port" .Values.operator.metricsBindAddress }}
{{- $health := include "paddlejob-operator.port" .Values.operator.healthProbeBindAddress }}
{{- if and $metrics (eq (int $metrics) (int $health)) }}
{{- fail (printf "operator.healthProbeBindAddress: %s is the port of operator.metricsBindAddress; each needs its own" $health) }}
{{- end }}
{{- range compact (list $metrics $health) }}
{{- if or (lt (int .) 1) (gt (int .) 65535) }}
{{- fail (printf "operator: %s is no port" .) }}
{{- end }}
{{- end }}
{{- $ends := splitList "-" .Values.operator.hostPortRange }}
{{- if or (lt (int (first $ends)) 1) (gt (int (last $ends)) 65535) (lt (sub (int (last $ends)) (int (first $ends))) 19) }}
{{- fail "operator.hostPortRange: needs at least 20 ports, the lower end first, none above 65535" }}
{{- end }}
{{- $volumes := dict "metrics-certificate" .Values.metrics.certificateSecret }}
{{- range .Values.extraVolumes }}
{{- if get $volumes .name }}
{{- fail (printf "extraVolumes: %s is there twice" .name) }}
{{- end }}
{{- $_ := set $volumes .name "yes" }}
{{- end }}
{{- range .Values.extraVolumeMounts }}
{{- if not (get $volumes .name) }}
{{- fail (printf "extraVolumeMounts: no volume is named %s" .name) }}
{{- end }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service.enabled) }}
{{- fail "metrics.serviceMonitor: it finds the operator by metrics.service, which is not enabled" }}
{{- end }}
{{- $monitored := or .Values.metrics.serviceMonitor.enabled .Values.metrics.podMonitor.enabled }}
{{- if and $monitored (not (include "paddlejob-operator.port" .Values.operator.metricsBindAddress)) }}
{{- fail "operator.metricsBindAddress: no metrics are served, and a monitor would find none" }}
{{- end }}
{{- if and .Values.metrics.certificateSecret (not .Values.metrics.secure) }}
{{- fail "metrics.certificateSecret: it is for metrics.secure, which is off" }}
{{- end }}
{{- if and .Values.metrics.podMonitor.enabled (include "paddlejob-operator.isSecure" .) (not .Values.metrics.tokenSecret.name) }}
{{- fail "metrics.podMonitor: it needs metrics.tokenSecret, because a PodMonitor cannot name a token's file" }}
{{- end }}
{{- range $where := list "commonLabels" "podLabels" }}
{{- range $label := keys (include "paddlejob-operator.selectorLabels" $ | fromYaml) }}
{{- if hasKey (get $.Values $where | default dict) $label }}
{{- fail (printf "%s: %s is the chart's own, by which the operator's pods are found" $where $label) }}
{{- end }}
{{- end }}
{{- end }}
{{- $name := include "paddlejob-operator.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "fullnameOverride: empty, and a Service cannot be named after the release: %s" $name) }}
{{- end }}
{{- /* Skipped if the release makes no ClusterRole: its installer is perhaps not allowed to read such bindings. */}}
{{- if or (eq .Values.scope.kind "All") .Values.userRoles.aggregate }}
{{- $everywhere := lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" $name }}
{{- if and $everywhere (not (include "paddlejob-operator.isOurs" (list . $everywhere))) }}
{{- fail (printf "scope: the ClusterRoleBinding %s gives another operator the jobs of all namespaces" $name) }}
{{- end }}
{{- end }}
{{- if eq .Values.scope.kind "All" }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "RoleBinding" "" "").items }}
{{- if and (eq .metadata.name $name) (not (include "paddlejob-operator.isOurs" (list $ .))) }}
{{- fail (printf "scope: the RoleBinding %s in %s gives another operator the jobs there" $name .metadata.namespace) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Whether an object of the cluster belongs to this release. Arguments: the root context, the object. */}}
{{- define "paddlejob-operator.isOurs" -}}
{{- $release := (index . 0).Release }}
{{- $notes := (index . 1).metadata.annotations | default dict }}
{{- $is := eq (get $notes "meta.helm.sh/release-name") $release.Name }}
{{- if and $is (eq (get $notes "meta.helm.sh/release-namespace") $release.Namespace) }}yes{{ end }}
{{- end }}
