package verdict

import "os"

// configs are the files in which pytest looks for its configuration (pytest documentation, "Initialization: determining
// rootdir and configfile").
var configs = [...]string{"pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"}

// pytest are the arguments of pytest for the workspace alone. By itself pytest looks for its configuration and for
// conftest.py in the folders above, too, which are the caller's.
func (w *Workspace) pytest() []string {
	config := os.DevNull
	for _, name := range configs {
		if _, err := w.root.Stat(name); err == nil {
			config = name
			break
		}
	}
	return []string{"-m", "pytest", "--rootdir=.", "--confcutdir=.", "-c", config}
}
