package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/subtle"
)

// Sizes defined by XAES-256-GCM.
const (
	nonceSize = 24
	tagSize   = 16
)

// xaes is XAES-256-GCM under one key (c2sp.org/XAES-256-GCM). Safe for concurrent use.
type xaes struct {
	block cipher.Block
	k1    [aes.BlockSize]byte
}

func newXAES(key []byte) (*xaes, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	x := &xaes{block: block}
	block.Encrypt(x.k1[:], x.k1[:])
	var carry byte
	for i := len(x.k1) - 1; i >= 0; i-- {
		carry, x.k1[i] = x.k1[i]>>7, x.k1[i]<<1|carry
	}
	x.k1[len(x.k1)-1] ^= carry * 0b10000111
	return x, nil
}

// derived returns the AES-256-GCM for a nonce. The caller passes the second half of the nonce to it.
func (x *xaes) derived(nonce []byte) cipher.AEAD {
	key := make([]byte, 0, 2*aes.BlockSize)
	for counter := byte(1); counter <= 2; counter++ {
		m := append([]byte{0, counter, 'X', 0}, nonce[:12]...)
		subtle.XORBytes(m, m, x.k1[:])
		x.block.Encrypt(m, m)
		key = append(key, m...)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // the length of the key is right
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the required block size
	}
	return gcm
}

func (x *xaes) seal(to, nonce, body, bound []byte) []byte {
	return x.derived(nonce).Seal(to, nonce[12:], body, bound)
}

func (x *xaes) open(to, nonce, sealed, bound []byte) ([]byte, error) {
	return x.derived(nonce).Open(to, nonce[12:], sealed, bound)
}
