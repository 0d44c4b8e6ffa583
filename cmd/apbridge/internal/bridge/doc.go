// Package bridge assembles the program: the table of dialects, the store, the engine and the server, as one App, and
// its documents. Commands and package rig create it. It is the only package that knows both dialects and machine, and
// it answers no request itself. Start reading at New and App.Run.
package bridge
