{{/*
Checks that the schema cannot express. Some read objects of the cluster; in `helm template`, which has no
cluster, these find nothing.
*/}}
{{- define "paddlejob-operator.check" -}}
{{- range $path := splitList " " (include "paddlejob-operator.needed" .) }}
{{- $at := $.Values }}
{{- range splitList "." $path }}
{{- $isThere := hasKey $at . }}
{{- $at = get $at . }}
{{- if or (not $isThere) (kindIs "invalid" $at) }}
{{- fail (printf "values: %s is null, or missing as in the values of an older chart: leave null out, and upgrade with --reset-then-reuse-values instead of --reuse-values" $path) }}
{{- end }}
{{- end }}
{{- end }}
{{- $elects := include "paddlejob-operator.elects" . }}
{{- if and (gt (int .Values.replicas) 1) (not $elects) }}
{{- fail "replicas: more than one needs operator.leaderElect, or all pods would write" }}
{{- end }}
{{- if and (not $elects) (eq (toString (get .Values.strategy "type")) "RollingUpdate") }}
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
{{- range .Values.extraArgs }}
{{- $flag := regexReplaceAll "=.*" (trimPrefix "--" .) "" }}
{{- $text := ternary (regexReplaceAll "^[^=]*=" . "") "true" (contains "=" .) }}
{{- include "paddlejob-operator.checkFlag" (list "extraArgs" . $flag $text) }}
{{- end }}
{{- range .Values.env }}
{{- if and (hasPrefix "PADDLEJOB_" .name) (hasKey . "value") }}
{{- include "paddlejob-operator.checkFlag" (list "env" .name (trimPrefix "PADDLEJOB_" .name | lower | replace "_" "-") (toString .value)) }}
{{- end }}
{{- end }}
{{- /* Without a cluster the version is the one that Helm was built with. */}}
{{- if and .Values.flowSchema.enabled (semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version) (lookup "v1" "Namespace" "" "default") }}
{{- fail (printf "flowSchema: Kubernetes %s does not serve it: flowcontrol.apiserver.k8s.io/v1 came with 1.29" .Capabilities.KubeVersion.Version) }}
{{- end }}
{{- include "paddlejob-operator.checkBudget" . }}
{{- $containers := dict "manager" "yes" }}
{{- range $where := list "sidecars" "initContainers" }}
{{- range get $.Values $where | default list }}
{{- if get $containers .name }}
{{- fail (printf "%s: a container is named %s already" $where .name) }}
{{- end }}
{{- $_ := set $containers .name "yes" }}
{{- end }}
{{- end }}
{{- $volumes := dict "metrics-certificate" .Values.metrics.certificateSecret }}
{{- range .Values.extraVolumes }}
{{- if get $volumes .name }}
{{- fail (printf "extraVolumes: %s is there twice" .name) }}
{{- end }}
{{- $_ := set $volumes .name "yes" }}
{{- end }}
{{- $paths := dict }}
{{- range .Values.extraVolumeMounts }}
{{- if get $paths .mountPath }}
{{- fail (printf "extraVolumeMounts: %s is there twice" .mountPath) }}
{{- end }}
{{- $_ := set $paths .mountPath "yes" }}
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
{{- range $where := list "labels" "podLabels" }}
{{- if hasKey (get $.Values.elasticEtcd $where | default dict) "app.kubernetes.io/name" }}
{{- fail (printf "elasticEtcd.%s: app.kubernetes.io/name is the chart's own, by which etcd's pods are found" $where) }}
{{- end }}
{{- end }}
{{- $name := include "paddlejob-operator.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- fail (printf "fullnameOverride: empty, and a Service cannot be named after the release: %s" $name) }}
{{- end }}
{{- /* Only an installer for all namespaces needs the right to list bindings; one that makes no ClusterRole, none to read them. */}}
{{- if eq .Values.scope.kind "All" }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRoleBinding" "" "").items }}
{{- if and (eq (get (.metadata.labels | default dict) "app.kubernetes.io/name") "paddlejob-operator") (not (include "paddlejob-operator.isOurs" (list $ .))) }}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" .roleRef.name | default dict).rules }}
{{- if has "paddlejobs/status" (.resources | default list) }}
{{- fail (printf "scope: a ClusterRoleBinding labelled paddlejob-operator gives another operator the jobs of all namespaces: kubectl get clusterrolebindings -l app.kubernetes.io/name=paddlejob-operator") }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- else if .Values.userRoles.aggregate }}
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

{{/*
A flag of the operator that is set beside `operator`. Arguments: the value that sets it, the words, the flag, its text.
*/}}
{{- define "paddlejob-operator.checkFlag" -}}
{{- $where := index . 0 }}{{ $words := index . 1 }}{{ $flag := index . 2 }}{{ $text := index . 3 }}
{{- $rule := get (include "paddlejob-operator.flagRules" $ | fromYaml) $flag }}
{{- /* What a variable of the container brings is not known here. */}}
{{- if and $rule (not (contains "$(" $text)) }}
{{- with $rule }}
{{- $number := float64 $text }}
{{- if not (regexMatch .pattern $text) }}
{{- fail (printf "%s: %s: the operator does not take %q for --%s" $where $words $text $flag) }}
{{- end }}
{{- if and $text (or (and (hasKey . "minimum") (lt $number (float64 .minimum))) (and (hasKey . "exclusiveMinimum") (le $number (float64 .exclusiveMinimum))) (and (hasKey . "maximum") (gt $number (float64 .maximum)))) }}
{{- fail (printf "%s: %s: --%s is %s %s and at most %s" $where $words $flag (ternary "at least" "more than" (hasKey . "minimum")) (toJson (default 0 (default .exclusiveMinimum .minimum))) (toJson .maximum)) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A budget that lets no pod go would block every drain of its node. */}}
{{- define "paddlejob-operator.checkBudget" -}}
{{- $replicas := int .Values.replicas }}
{{- with .Values.podDisruptionBudget }}
{{- if .enabled }}
{{- $by := ternary "maxUnavailable" "minAvailable" (eq (include "paddlejob-operator.amount" .minAvailable) "") }}
{{- $amount := include "paddlejob-operator.amount" (get . $by) }}
{{- $pods := int $amount }}
{{- if hasSuffix "%" $amount }}
{{- $pods = div (add (mul (int (trimSuffix "%" $amount)) $replicas) 99) 100 }}
{{- end }}
{{- if lt (ternary $pods (sub $replicas $pods) (eq $by "maxUnavailable") | int) 1 }}
{{- fail (printf "podDisruptionBudget.%s: with %q of %d replicas no pod may go, and no drain of its node would end" $by $amount $replicas) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* An amount of pods as text; empty where it is not set. */}}
{{- define "paddlejob-operator.amount" -}}
{{- if not (kindIs "invalid" .) }}{{ include "paddlejob-operator.text" . }}{{ end -}}
{{- end }}

{{/* Whether an object of the cluster belongs to this release. Arguments: the root context, the object. */}}
{{- define "paddlejob-operator.isOurs" -}}
{{- $release := (index . 0).Release }}
{{- $notes := (index . 1).metadata.annotations | default dict }}
{{- $is := eq (get $notes "meta.helm.sh/release-name") $release.Name }}
{{- if and $is (eq (get $notes "meta.helm.sh/release-namespace") $release.Namespace) }}yes{{ end }}
{{- end }}
