package bridge

import "runtime/debug"

// version is the version of a package: -ldflags "-X …/internal/bridge.version=1.2.3".
var version string

// Version returns the version set by the linker, else the module version from the go command, else "devel".
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

// userAgent returns the User-Agent of the bridge's requests.
func userAgent() string { return "apbridge/" + Version() }

// BuildSetting returns a build setting of the go command, such as vcs.revision, or "".
func BuildSetting(key string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}
