package metrics

// WebhookTried counts an attempt at a webhook by what came of it: delivered, failed (it is tried again), dead (given
// up) or returned (the process stopped).
func (m *Metrics) WebhookTried(outcome string) {
	if m != nil {
		m.webhooks.WithLabelValues(outcome).Inc()
	}
}
