package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// logFlags go before the configuration; "" leaves it what it says.
type logFlags struct{ level, format string }

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"json", "console", "auto"}
)

func (f *logFlags) add(set *pflag.FlagSet) {
	set.Var((*filled)(&f.level), "log-level", "debug, info, warn or error (default log.level of the configuration, else info)")
	set.Var((*filled)(&f.format), "log-format", "json, console, or auto: console on a terminal (default log.format, else auto)")
}

func (f *logFlags) complete(cmd *cobra.Command) {
	completeWords(cmd, "log-level", logLevels...)
	completeWords(cmd, "log-format", logFormats...)
}

// over lays the flags over what the configuration says.
func (f *logFlags) over(c config.Log) config.Log {
	return config.Log{Level: cmp.Or(f.level, c.Level), Format: cmp.Or(f.format, c.Format)}
}

// check is the error of flags that name what there is not.
func (f *logFlags) check() error {
	_, err := newSwitchedLog(io.Discard, f.over(config.Default().Log))
	return err
}

// open makes the log of flags alone.
func (f *logFlags) open(w io.Writer) (*zap.Logger, error) {
	s, err := newSwitchedLog(w, f.over(config.Default().Log))
	if err != nil {
		return nil, err
	}
	return s.logger(), nil
}

// encoderOf is the encoder of a format, on a terminal or not.
func encoderOf(format string, onTerminal bool) (zapcore.Encoder, error) {
	switch {
	case format == "json" || format == "auto" && !onTerminal:
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime, c.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.SecondsDurationEncoder
		return zapcore.NewJSONEncoder(c), nil
	case format == "console" || format == "auto":
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime, c.CallerKey = zapcore.TimeEncoderOfLayout("15:04:05.000"), zapcore.OmitKey
		return zapcore.NewConsoleEncoder(c), nil
	}
	return nil, misuse(fmt.Sprintf("flag --log-format: %q is not one of json, console, auto", format))
}
