// Package bridge is the program put together: the table of dialects, the store, the engine and the server, as one App,
// and the documents it serves. Commands and package rig build it. It is the only place where dialects and machine meet,
// and it answers no request itself.
package bridge
