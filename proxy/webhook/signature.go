package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/apbridge/apbridge/config"
)

// Sign returns the value of X-Apbridge-Signature: "t=SECONDS,v1=HEX,v2=HEX", and v1 and v2 again for each further
// secret; "" without any. v1 is the HMAC-SHA256 under the secret of SECONDS, a dot and the body, v2 that of SECONDS, a
// dot, the delivery, a dot and the body. A receiver computes the same, and refuses times long past, so that it cannot
// be sent again later; with v2, nor under the name of another delivery before that.
func Sign(secrets []string, at time.Time, delivery string, body []byte) string {
	if len(secrets) == 0 {
		return ""
	}
	seconds := strconv.FormatInt(at.Unix(), 10)
	signed := "t=" + seconds
	for _, secret := range secrets {
		signed += ",v1=" + sum(secret, seconds+".", body) + ",v2=" + sum(secret, seconds+"."+delivery+".", body)
	}
	return signed
}

func sum(secret, before string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(before))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// secretsOf has the secret before at the end: a receiver that reads the last v2 alone knows that one still.
func secretsOf(cfg *config.Webhooks) (list []string) {
	for _, secret := range []config.Secret{cfg.Secret, cfg.PreviousSecret} {
		if secret != "" {
			list = append(list, secret.Reveal())
		}
	}
	return list
}
