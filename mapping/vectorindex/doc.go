// Package vectorindex computes the nearness of vectors, stores them, and combines nearness with a score by words.
// Packages item and embedding use it. It knows neither items nor a database nor the model of the vectors.
//
// Start reading at Unit and Fuse.
package vectorindex
