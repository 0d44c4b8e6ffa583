// Package embedding converts texts to vectors with an OpenAI-compatible endpoint (POST /embeddings: hosted, Azure,
// Ollama, vLLM, Text Embeddings Inference, LiteLLM). It limits the size of requests, checks every number of a response,
// and works around texts that an endpoint refuses or that crash it. The bridge passes its Client to package item. It
// depends neither on items nor on a database.
//
// Start reading at Client.Documents.
package embedding
