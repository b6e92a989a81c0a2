{{- define "skerry.selector" -}}
app.kubernetes.io/name: skerry
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "skerry.labels" -}}
{{ include "skerry.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The ports of the services: {NAME: PORT}. */}}
{{- define "skerry.ports" -}}
{{- $ports := dict -}}
{{- range $name, $s := .Values.services -}}
{{- $_ := set $ports $name (required (printf "services.%s.listen is required" $name) $s.listen | splitList ":" | last | int) -}}
{{- end -}}
{{- toJson $ports -}}
{{- end -}}

{{/* Fails for a further key that the chart writes itself: its value would be lost. */}}
{{- define "skerry.apart" -}}
{{- range $key, $value := .further -}}
{{- if hasKey $.own $key -}}
{{- $at := printf "%s.%s" $.at $key -}}
{{- if and (kindIs "map" $value) (kindIs "map" (get $.own $key)) -}}
{{- include "skerry.apart" (dict "at" $at "own" (get $.own $key) "further" $value) -}}
{{- else -}}
{{- fail (printf "%s is not for you to set: the chart writes it itself, from its other values; leave it out" $at) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The agent's configuration. */}}
{{- define "skerry.configuration" -}}
{{- if not .Values.services -}}{{- fail "services is empty: say what is in front of the agent" -}}{{- end -}}
{{- $mesh := dict "listen" (list (printf "/ip4/0.0.0.0/udp/%v/quic-v1" .Values.mesh.port) (printf "/ip4/0.0.0.0/tcp/%v" .Values.mesh.port)) -}}
{{- if .Values.mesh.invitation -}}{{- $_ := set $mesh "join_file" "/etc/skerry/invitation/invitation" -}}{{- end -}}
{{- $own := dict
  "site" (required "site is required: this site's name" .Values.site)
  "data_dir" "/var/lib/skerry/data"
  "application" "/etc/skerry/site/catalog.yaml"
  "api" (merge (dict "probes" (printf "0.0.0.0:%v" .Values.probes)) .Values.api)
  "mesh" $mesh
  "services" .Values.services -}}
{{- include "skerry.apart" (dict "at" "configuration" "own" $own "further" .Values.configuration) -}}
{{- toYaml (merge $own .Values.configuration) -}}
{{- end -}}
