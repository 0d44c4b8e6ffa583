// Package bridge assembles the program as an App: the table of dialects, the store, the engine, the server and its
// documents. Commands and package rig create Apps. It is the only package that knows both the dialects and the machine,
// and it handles no request itself. Start reading at New and App.Run.
package bridge
