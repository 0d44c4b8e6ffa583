package bridge

import "runtime/debug"

// version is what a package was made as: -ldflags "-X …/internal/bridge.version=1.2.3".
var version string

// Version returns the version that the linker was given, else the module's version as the go command stamped it, or
// "devel".
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

// userAgent is the bridge's name in the requests that it makes.
func userAgent() string { return "apbridge/" + Version() }

// BuildSetting returns a setting of the build that the go command noted, such as vcs.revision; "" for none.
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
