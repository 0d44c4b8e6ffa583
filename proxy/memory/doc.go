// Package memory gives agents access to the long-term store: the items that a run's agent receives (Recall), the items
// that it writes with a step (Remember), and its own access to the store (Access, Granted). The engine calls it, and
// the service and the guards call it through the engine. It does not depend on agents or HTTP and executes no runs.
// Start reading at Memory.Recall.
//
// Recall is a search under a separate principal (Scope): the run's tenant, and as Namespaces the templates of
// memory.namespaces with the run's values, limited to those of the key that created the run. So Recall scores all of
// them as one corpus, and an agent's writes are checked like every other write.
//
// A token for the store is signed and not stored. It names the run, or the task for an agent with one token for several
// runs. Its principal is determined at each use, and exists only while the run is active in the database. So the commit
// that ends a run revokes the token on all bridges, and a crash neither revokes it early nor leaves it behind. The key
// of the signature is a row of secrets, created by the first bridge that needs one. The guards let such a principal
// (mapping.RightStore) use only the store paths of a dialect (adapter.Dialect.Store).
package memory
