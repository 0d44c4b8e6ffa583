package console

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

// LogFlags override the configuration; "" leaves what it says.
type LogFlags struct{ Level, Format string }

// The levels and formats of a log.
var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"json", "console", "auto"}
)

// Add gives a command the flags.
func (f *LogFlags) Add(set *pflag.FlagSet) {
	set.Var((*Filled)(&f.Level), "log-level", "minimum `LEVEL`: debug, info, warn or error (default log.level of the configuration, else info)")
	set.Var((*Filled)(&f.Format), "log-format", "`FORMAT` of the log: json, console, or auto, which is console on a terminal (default log.format, else auto)")
}

// Complete has a shell offer their words.
func (f *LogFlags) Complete(cmd *cobra.Command) {
	CompleteWords(cmd, "log-level", LogLevels...)
	CompleteWords(cmd, "log-format", LogFormats...)
}

// Over returns the configuration with the flags laid over it.
func (f *LogFlags) Over(c config.Log) config.Log {
	return config.Log{Level: cmp.Or(f.Level, c.Level), Format: cmp.Or(f.Format, c.Format)}
}

// Check returns an error where the flags name a level or a format that does not exist.
func (f *LogFlags) Check() error {
	_, err := NewLog(io.Discard, f.Over(config.Default().Log))
	return err
}

// Open makes a log that writes to w as the flags alone say.
func (f *LogFlags) Open(w io.Writer) (*zap.Logger, error) {
	s, err := NewLog(w, f.Over(config.Default().Log))
	if err != nil {
		return nil, err
	}
	return s.Logger(), nil
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
	return nil, Misuse(fmt.Sprintf("flag --log-format: %q is not one of json, console, auto", format))
}
