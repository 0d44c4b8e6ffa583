package metrics

// WebhookTried counts an attempt to deliver a webhook, by its outcome: delivered, failed (it is retried), dead (given
// up) or returned (the process stopped).
func (m *Metrics) WebhookTried(outcome string) {
	if m != nil {
		m.webhooks.WithLabelValues(outcome).Inc()
	}
}
