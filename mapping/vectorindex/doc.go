// Package vectorindex encodes vectors, computes their nearness, and combines nearness with a score by words. Packages
// item and embedding use it. It knows neither items nor databases nor models.
//
// Start reading at Unit and Fuse.
package vectorindex
