// Package vectorindex knows how near two vectors are, how they are kept, and how nearness and words become one score.
// Packages item and embedding call it. It knows neither items nor a database nor the model that the vectors are of.
//
// Start reading at Unit and Fuse.
package vectorindex
