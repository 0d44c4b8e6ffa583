package main

// These types have the fields of the example for Kubernetes, with the names of the API's v1 types. A field that is
// missing here is misspelled, or must be looked up and added.
type (
	manifest struct {
		APIVersion string `yaml:"apiVersion"`
		Kind       string
		Metadata   named
		Data       map[string]string // of a ConfigMap
		Spec       struct {
			Selector             map[string]any
			Ports                []port // of a Service
			Replicas             int
			ServiceName          string `yaml:"serviceName"`
			Template             pod
			VolumeClaimTemplates []claim        `yaml:"volumeClaimTemplates"`
			PodSelector          map[string]any `yaml:"podSelector"` // of a NetworkPolicy
			PolicyTypes          []string       `yaml:"policyTypes"`
			Ingress              []struct{ Ports []port }
		}
	}
	named struct {
		Name   string
		Labels map[string]string
	}
	port struct {
		Name          string
		Port          int
		TargetPort    string `yaml:"targetPort"`
		ContainerPort int    `yaml:"containerPort"`
	}
	pod struct {
		Metadata named
		Spec     struct {
			TerminationGracePeriodSeconds int         `yaml:"terminationGracePeriodSeconds"`
			SecurityContext               podSecurity `yaml:"securityContext"`
			Containers                    []container
			Volumes                       []volume
		}
	}
	podSecurity struct {
		FSGroup        int               `yaml:"fsGroup"`
		SeccompProfile map[string]string `yaml:"seccompProfile"`
	}
	container struct {
		Name            string
		Image           string
		Args            []string
		Ports           []port
		StartupProbe    probe `yaml:"startupProbe"`
		ReadinessProbe  probe `yaml:"readinessProbe"`
		LivenessProbe   probe `yaml:"livenessProbe"`
		Resources       resources
		Env             []struct{ Name, Value string }
		SecurityContext struct {
			RunAsNonRoot             bool `yaml:"runAsNonRoot"`
			RunAsUser                int  `yaml:"runAsUser"`
			AllowPrivilegeEscalation bool `yaml:"allowPrivilegeEscalation"`
			ReadOnlyRootFilesystem   bool `yaml:"readOnlyRootFilesystem"`
			Capabilities             struct{ Drop []string }
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name      string
			MountPath string `yaml:"mountPath"`
			ReadOnly  bool   `yaml:"readOnly"`
		} `yaml:"volumeMounts"`
	}
	probe struct {
		HTTPGet          struct{ Path, Port string } `yaml:"httpGet"`
		PeriodSeconds    int                         `yaml:"periodSeconds"`
		FailureThreshold int                         `yaml:"failureThreshold"`
	}
	resources struct{ Requests, Limits map[string]string }
	volume    struct {
		Name      string
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			SecretName  string `yaml:"secretName"`
			DefaultMode int    `yaml:"defaultMode"`
		}
		EmptyDir struct{} `yaml:"emptyDir"`
	}
	claim struct {
		Metadata named
		Spec     struct {
			AccessModes []string `yaml:"accessModes"`
			Resources   resources
		}
	}
)
