package main

import (
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

type logFlags struct{ level, format string }

func (f *logFlags) add(set *pflag.FlagSet) {
	set.StringVar(&f.level, "log-level", "info", "debug, info, warn or error")
	set.StringVar(&f.format, "log-format", "auto", "json, console, or auto: console on a terminal")
}

// open makes the log. Nothing is sampled away: a log that leaves out what is
// frequent leaves out what went wrong. Wherever it goes, it is looked at on a terminal
// one day, so that it is plain text in any case.
func (f *logFlags) open(w io.Writer) (*zap.Logger, error) {
	level, err := zapcore.ParseLevel(f.level)
	if err != nil {
		return nil, misuse(fmt.Sprintf("flag --log-level: %q is not one of debug, info, warn, error", f.level))
	}
	encoder, err := f.encoder(w)
	if err != nil {
		return nil, err
	}
	return zap.New(zapcore.NewCore(encoder, zapcore.Lock(zapcore.AddSync(plainText{w})), level)), nil
}

func (f *logFlags) encoder(w io.Writer) (zapcore.Encoder, error) {
	format := f.format
	if format == "auto" {
		format = "json"
		if _, ok := w.(terminal); ok {
			format = "console"
		}
	}
	switch format {
	case "json":
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime, c.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.SecondsDurationEncoder
		return zapcore.NewJSONEncoder(c), nil
	case "console":
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime, c.CallerKey = zapcore.TimeEncoderOfLayout("15:04:05.000"), zapcore.OmitKey
		return zapcore.NewConsoleEncoder(c), nil
	default:
		return nil, misuse(fmt.Sprintf("flag --log-format: %q is not one of json, console, auto", f.format))
	}
}
