// Package vectorindex is what a search by meaning knows of vectors: how near two are, how they
// are kept, and how two rankings become one. It knows neither items nor a database nor the
// model that the vectors are of.
//
// Start reading at Unit and Fuse.
package vectorindex
