// Package embedding has texts made into vectors by an OpenAI-compatible endpoint (POST /embeddings: hosted, Azure,
// Ollama, vLLM, Text Embeddings Inference, LiteLLM): requests of a bounded size, answers that are checked number by
// number, and a way around texts that an endpoint does not take or does not survive. The bridge gives its Client to
// package item. It knows neither items nor a database.
//
// Start reading at Client.Documents.
package embedding
