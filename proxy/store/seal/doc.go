// Package seal encrypts bodies stored in a database, under keys that can be rotated. Package sqldb seals and opens
// bodies with it, packages store and archive pass its key ring on, and the bridge creates the ring from the
// configuration. It does not depend on databases and reads no files. Start reading at Ring.
//
// A sealed body consists of a mark, the id of its key, and XAES-256-GCM ciphertext (C2SP): AES-256-GCM with a key that
// is derived for each body from 24 random bytes. Plain AES-GCM with random nonces is safe for 2^32 bodies per key,
// which a bridge that logs tokens can write within weeks. XAES is safe for 2^80, so nothing has to be counted. The
// place of a body (its table, column and row) is authenticated with it. A body moved to another place does not open.
package seal
