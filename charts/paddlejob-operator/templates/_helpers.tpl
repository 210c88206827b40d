{{/* Name of the chart. */}}
{{- define "paddlejob-operator.name" -}}
{{- .Values.nameOverride | default .Chart.Name -}}
{{- end }}

{{/* Namespace of all objects. */}}
{{- define "paddlejob-operator.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end }}

{{/* Name of all objects. */}}
{{- define "paddlejob-operator.fullname" -}}
{{- /* The default gives way to nameOverride, or that would do nothing. */}}
{{- if and .Values.fullnameOverride (not (and .Values.nameOverride (eq .Values.fullnameOverride "paddle-controller-manager"))) -}}
{{- .Values.fullnameOverride -}}
{{- else if contains (include "paddlejob-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "paddlejob-operator.name" .) | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* Labels by which Deployment and Services select the pods. */}}
{{- define "paddlejob-operator.selectorLabels" -}}
app.kubernetes.io/name: paddlejob-operator
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{/* Labels of all objects. */}}
{{- define "paddlejob-operator.labels" -}}
{{ include "paddlejob-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Metadata of an object. Arguments: the root context, the name, values with more labels, annotations, or a namespace. */}}
{{- define "paddlejob-operator.metadata" -}}
{{- $root := index . 0 }}{{ $more := index . 2 -}}
metadata:
  name: {{ index . 1 }}
  namespace: {{ get $more "namespace" | default (include "paddlejob-operator.namespace" $root) | quote }}
  labels:
    {{- include "paddlejob-operator.labels" $root | nindent 4 }}
    {{- with get $more "labels" }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with get $more "annotations" }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* What the release adds to the metadata of the CRD. */}}
{{- define "paddlejob-operator.crdMetadata" -}}
labels:
  {{- include "paddlejob-operator.labels" . | nindent 2 }}
{{- if or .Values.crds.keep .Values.crds.annotations }}
annotations:
  {{- if .Values.crds.keep }}
  helm.sh/resource-policy: keep
  {{- include "paddlejob-operator.protection" . | nindent 2 }}
  {{- end }}
  {{- with .Values.crds.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The account under which the operator runs. */}}
{{- define "paddlejob-operator.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "paddlejob-operator.fullname" .) -}}
{{- end }}

{{/*
A role of that account, and its binding. Arguments: the root context, the name, the namespace (empty: they are
cluster-wide), the rules.
*/}}
{{- define "paddlejob-operator.role" -}}
{{- $root := index . 0 }}{{ $name := index . 1 }}{{ $namespace := index . 2 }}{{ $rules := index . 3 }}
{{- $role := ternary "Role" "ClusterRole" (ne $namespace "") }}
{{- range $kind := list $role (printf "%sBinding" $role) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  name: {{ $name }}
  {{- with $namespace }}
  namespace: {{ . | quote }}
  {{- end }}
  labels:
    {{- include "paddlejob-operator.labels" $root | nindent 4 }}
{{- if eq $kind $role }}
rules:
  {{- $rules | nindent 2 }}
{{- else }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $role }}
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ include "paddlejob-operator.serviceAccountName" $root | quote }}
    namespace: {{ include "paddlejob-operator.namespace" $root | quote }}
{{- end }}
{{- end }}
{{- end }}

{{/* The rules of the operator's own role. */}}
{{- define "paddlejob-operator.ownRules" -}}
{{ include "paddlejob-operator.rules" . }}
{{- if eq .Values.scope.kind "All" }}
{{ include "paddlejob-operator.clusterRules" . }}
{{- end }}
{{- with .Values.rbac.additionalRules }}
{{ toYaml . }}
{{- end }}
{{- if .Values.progress.enabled }}
{{ include "paddlejob-operator.progressRules" . }}
{{- end }}
{{- end }}

{{/* An image: a digest wins over a tag. Arguments: its values, and the tag where they have none. */}}
{{- define "paddlejob-operator.image" -}}
{{- $image := index . 0 -}}
{{- $repository := list $image.registry $image.repository | compact | join "/" -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository ($image.tag | default (index . 1)) -}}
{{- end -}}
{{- end }}

{{/* The secrets with which images are pulled. Arguments: the root context, those of one image. */}}
{{- define "paddlejob-operator.pullSecrets" -}}
{{- with concat ((index . 0).Values.global.imagePullSecrets | default list) (index . 1 | default list) }}
imagePullSecrets:
  {{- range . }}
  - {{ ternary (dict "name" .) . (kindIs "string" .) | toJson }}
  {{- end }}
{{- end }}
{{- end }}

{{/* A value as text: numbers come to templates as floats, and large ones would get an exponent. */}}
{{- define "paddlejob-operator.text" -}}
{{- if kindIs "float64" . -}}
{{- toJson . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end }}

{{/* Whether the operator writes only while it holds a Lease: the last argument decides. */}}
{{- define "paddlejob-operator.elects" -}}
{{- $elects := .Values.operator.leaderElect }}
{{- range .Values.extraArgs }}
{{- if regexMatch "^--leader-elect(=|$)" . }}
{{- $elects = not (regexMatch "(?i)=(false|0|no)$" .) }}
{{- end }}
{{- end }}
{{- if $elects }}yes{{ end -}}
{{- end }}

{{/* The port of an address such as $(POD_IP):8080; empty where it is 0, which turns the server off. */}}
{{- define "paddlejob-operator.port" -}}
{{- if contains ":" (toString .) }}{{ regexFind "[0-9]+$" . }}{{ end -}}
{{- end }}

{{/* Whether /metrics is served, and only to clients with a token. */}}
{{- define "paddlejob-operator.isSecure" -}}
{{- if and .Values.metrics.secure (include "paddlejob-operator.port" .Values.operator.metricsBindAddress) }}yes{{ end -}}
{{- end }}

{{/* The fields of ServiceMonitor and PodMonitor for reading /metrics by HTTPS. */}}
{{- define "paddlejob-operator.scrape" -}}
{{- if include "paddlejob-operator.isSecure" . }}
scheme: https
{{- with .Values.metrics.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.metrics.tokenSecret }}
{{- if .name }}
authorization:
  type: Bearer
  credentials:
    name: {{ .name | quote }}
    key: {{ .key | quote }}
{{- else }}
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Names of more ClusterRoles. Arguments: the root context, a suffix. The names contain the release's namespace, except for
a release of all namespaces, of which there is only one.
*/}}
{{- define "paddlejob-operator.clusterRole" -}}
{{- $root := index . 0 -}}
{{- $of := ternary "" (printf "-%s" (include "paddlejob-operator.namespace" $root)) (eq $root.Values.scope.kind "All") -}}
{{- printf "%s%s-%s" (include "paddlejob-operator.fullname" $root) $of (index . 1) -}}
{{- end }}

{{/* The namespaces with Roles for the operator, as {"names": [...]}; none where it has a ClusterRole. */}}
{{- define "paddlejob-operator.namespaces" -}}
{{- if eq .Values.scope.kind "Own" -}}
{{- dict "names" (list (include "paddlejob-operator.namespace" .)) | toYaml -}}
{{- else -}}
{{- $names := list -}}
{{- range .Values.scope.namespaces -}}
{{- if not (include "paddlejob-operator.isGone" (list $ .)) -}}
{{- $names = append $names . -}}
{{- end -}}
{{- end -}}
{{- if and .Values.scope.namespaces (not $names) -}}
{{- fail "scope.namespaces: none of them exists any more" -}}
{{- end -}}
{{- dict "names" $names | toYaml -}}
{{- end -}}
{{- end }}

{{/* "true" if an upgrade finds that this namespace has been deleted: no Role can be put there. Without a
cluster, as in `helm template`, not even the release's own namespace is found, and none counts as gone. */}}
{{- define "paddlejob-operator.isGone" -}}
{{- $ := index . 0 -}}
{{- if and $.Release.IsUpgrade (lookup "v1" "Namespace" "" (include "paddlejob-operator.namespace" $)) -}}
{{- if not (lookup "v1" "Namespace" "" (index . 1)) -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/* The fields that the values set. Arguments: the values, the fields that may be taken from them. */}}
{{- define "paddlejob-operator.fields" -}}
{{- $values := first . }}{{ $set := dict }}
{{- range $field := rest . }}
{{- with get $values $field }}{{ $_ := set $set $field . }}{{ end }}
{{- end }}
{{- with $set }}{{ toYaml . }}{{ end }}
{{- end }}

{{/* The part of the pod spec that the operator's pods and the pod of `helm test` share. */}}
{{- define "paddlejob-operator.podSpec" -}}
serviceAccountName: {{ include "paddlejob-operator.serviceAccountName" . | quote }}
{{- include "paddlejob-operator.pullSecrets" (list . .Values.image.pullSecrets) }}
{{ include "paddlejob-operator.fields" (list .Values "runtimeClassName" "schedulerName" "hostAliases" "dnsConfig" "nodeSelector" "tolerations") }}
{{- with .Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- if .Values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with .Values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" .Values.hostNetwork) }}
dnsPolicy: {{ . }}
{{- end }}
{{- if or .Values.metrics.certificateSecret .Values.extraVolumes }}
volumes:
  {{- with .Values.metrics.certificateSecret }}
  - name: metrics-certificate
    secret:
      secretName: {{ . | quote }}
  {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The part of the container that these pods share. */}}
{{- define "paddlejob-operator.container" -}}
image: {{ include "paddlejob-operator.image" (list .Values.image .Chart.AppVersion) | quote }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
args:
  {{- include "paddlejob-operator.args" . | trim | nindent 2 }}
env:
  - name: POD_IP
    valueFrom:
      fieldRef:
        fieldPath: status.podIP
  {{- if eq .Values.scope.kind "Own" }}
  - name: POD_NAMESPACE
    valueFrom:
      fieldRef:
        fieldPath: metadata.namespace
  {{- end }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{ include "paddlejob-operator.fields" (list .Values "envFrom" "resources" "securityContext") }}
{{- if or .Values.metrics.certificateSecret .Values.extraVolumeMounts }}
volumeMounts:
  {{- if .Values.metrics.certificateSecret }}
  - name: metrics-certificate
    mountPath: /etc/paddlejob/metrics
    readOnly: true
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The operator's arguments: its scope, what differs from its own defaults, and extraArgs. */}}
{{- define "paddlejob-operator.args" -}}
{{- if eq .Values.scope.kind "Own" }}
- --namespace=$(POD_NAMESPACE)
{{- else if eq .Values.scope.kind "List" }}
- --namespace={{ join "," (include "paddlejob-operator.namespaces" . | fromYaml).names }}
{{- end }}
{{- /* With a Lease named after the list, an upgrade that changes the list would have two leaders. */}}
{{- if and (ne .Values.scope.kind "All") (not .Values.operator.leaderElectionId) }}
- --leader-election-id={{ include "paddlejob-operator.namespace" . }}-{{ .Release.Name }}
{{- end }}
{{- $defaults := include "paddlejob-operator.flagDefaults" . | fromYaml }}
{{- range $name, $value := .Values.operator }}
{{- $flag := kebabcase $name }}
{{- $text := include "paddlejob-operator.text" $value }}
{{- if eq $text "true" }}
- --{{ $flag }}
{{- else if ne $text (get $defaults $flag) }}
- {{ printf "--%s=%s" $flag $text | quote }}
{{- end }}
{{- end }}
{{- if include "paddlejob-operator.isSecure" . }}
- --metrics-secure
{{- if .Values.metrics.certificateSecret }}
- --metrics-cert-dir=/etc/paddlejob/metrics
{{- end }}
{{- end }}
{{- if .Values.kueue.enabled }}
- --kueue
{{- end }}
{{- if .Values.progress.enabled }}
- --progress
- --progress-reads={{ include "paddlejob-operator.text" .Values.progress.reads }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{/* What the release adds to the etcd of elastic jobs: labels, labels of its pod, the pod's spec, its container. */}}
{{- define "paddlejob-operator.etcdLabels" -}}
{{- with merge dict .Values.elasticEtcd.labels .Values.commonLabels }}{{ toYaml . }}{{ end }}
{{- end }}

{{- define "paddlejob-operator.etcdPodLabels" -}}
{{- with merge dict .Values.elasticEtcd.podLabels .Values.elasticEtcd.labels }}{{ toYaml . }}{{ end }}
{{- end }}

{{- define "paddlejob-operator.etcdImage" -}}
{{- include "paddlejob-operator.image" (list .Values.elasticEtcd.image (include "paddlejob-operator.etcdTag" .)) }}
{{- end }}

{{- define "paddlejob-operator.etcdPodSpec" -}}
{{- include "paddlejob-operator.pullSecrets" (list . .Values.elasticEtcd.image.pullSecrets) | trim }}
{{ include "paddlejob-operator.fields" (list .Values.elasticEtcd "nodeSelector" "tolerations") }}
{{- end }}

{{- define "paddlejob-operator.etcdContainer" -}}
{{- with .Values.elasticEtcd.image.pullPolicy }}imagePullPolicy: {{ . }}{{ end }}
{{- end }}

{{- define "paddlejob-operator.etcdResources" -}}
{{- toYaml .Values.elasticEtcd.resources }}
{{- end }}
