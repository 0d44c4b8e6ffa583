// Package clock tells the engine how much time has passed, over suspensions of the machine too, and calls what is due
// later. It imports nothing of ours, and no other package uses it.
package clock
