package challenge

import (
	"errors"
	"io/fs"
	"path"
)

// suite is a suite.json of agbenchmark before October 2023: what the challenges in the folders below it have in common.
// Those with same_task were one run of the agent there; here each is a run of its own, with the same verdict.
type suite struct {
	Task         string   `json:"task"`
	Cutoff       int      `json:"cutoff"`
	Dependencies []string `json:"dependencies"`
	Category     []string `json:"shared_category"`
}

// applySuite lays a challenge over the suite.json in the folder above its own, if there is one.
func (l *loader) applySuite(folder string, c *Challenge) error {
	at := path.Join(path.Dir(folder), "suite.json")
	raw, err := fs.ReadFile(l.files, at)
	if folder == "." || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var s suite
	if err == nil {
		err = decode(raw, &s)
	}
	if err != nil {
		f := faultOf(at, err)
		return &f
	}
	if c.Task == "" {
		c.Task = s.Task
	}
	if c.Cutoff == 0 {
		c.Cutoff = s.Cutoff
	}
	c.Dependencies = append(c.Dependencies, s.Dependencies...)
	c.Category = append(c.Category, s.Category...)
	return nil
}
