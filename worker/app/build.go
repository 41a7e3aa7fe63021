package app

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/kesita/platform/coordination/journal"
)

// version and revision are set by the build of an image, which has no repository to read them from:
// -ldflags "-X github.com/kesita/platform/worker/app.version=... -X github.com/kesita/platform/worker/app.revision=...".
//
//policy:allow the linker can set nothing but a package variable of type string
var version, revision string

// Build names a binary.
type Build struct {
	// Version is the release, Revision the commit; a binary built by hand says "(devel)" and "unknown".
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
	// SDK is the DBOS release, Catalog the journal's catalog number that it needs (C7).
	SDK     string `json:"sdk"`
	Catalog int    `json:"catalog"`
}

// ReadBuild returns what is known of the running binary.
func ReadBuild() Build {
	b := Build{Version: version, Revision: revision, Go: runtime.Version(), SDK: journal.SDKVersion, Catalog: journal.Catalog}
	info, _ := debug.ReadBuildInfo()
	if info != nil && b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, setting := range settingsOf(info) {
		if setting.Key == "vcs.revision" && b.Revision == "" {
			b.Revision = setting.Value
		}
	}
	if b.Version == "" {
		b.Version = "(devel)"
	}
	if b.Revision == "" {
		b.Revision = "unknown"
	}
	return b
}

// String returns one line.
func (b Build) String() string {
	return fmt.Sprintf("%s (revision %s, %s, DBOS %s, catalog %d)", b.Version, b.Revision, b.Go, b.SDK, b.Catalog)
}

func settingsOf(info *debug.BuildInfo) []debug.BuildSetting {
	if info == nil {
		return nil
	}
	return info.Settings
}
