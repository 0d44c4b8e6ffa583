// Package seal encrypts bodies that are kept in a database, under keys that change. Package sqldb seals and opens with
// it, packages store and archive hand its ring of keys on, and the bridge makes the ring from the configuration. It
// knows no database and reads no file.
//
// A sealed body is the mark, the id of its key, and XAES-256-GCM (C2SP): AES-256-GCM under a key that is derived for
// each body from 24 random bytes. Bare AES-GCM with random nonces is good for 2^32 bodies of a key, which a bridge that
// logs tokens writes in weeks; with these it is good for 2^80, and nothing has to be counted. The place of a body (its
// table, column and row) is authenticated with it: moved to another place it does not open.
package seal
