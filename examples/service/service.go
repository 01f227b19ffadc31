package main

import (
	"cmp"
	"context"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/strictkv/strictkv"
	"github.com/strictkv/strictkv/layers/queue"
)

const (
	requestMax  = 20 * time.Second
	bodyMax     = 4 << 10
	passwordMin = 8
	hashRounds  = 100_000 // they make passwords slow to guess
)

var (
	errBad    = errors.New("want a mail address, and a password of 8 bytes at least")
	errDenied = errors.New("no such account, password or session")
)

// account is a value of accounts; profile is what its owner sees of it.
type (
	account struct {
		ID, Mail   string
		Salt, Hash []byte
	}
	profile struct {
		ID, Mail string
		Messages []string
	}
)

type service struct {
	db       *strictkv.DB
	lasts    time.Duration        // a session
	accounts *strictkv.Collection // by id
	mails    *strictkv.Collection // ids of accounts, by mail address
	sessions *strictkv.Collection // ids of accounts, by token
	messages *strictkv.Collection // by account and job: what jobs have left
	jobs     *queue.Queue
}

func newService(db *strictkv.DB, lasts time.Duration) (*service, error) {
	c := func(name string) *strictkv.Collection { return db.Collection([]byte(name)) }
	jobs, err := queue.New(db, c("jobs"), queue.Options{})
	return &service{
		db: db, lasts: lasts, jobs: jobs, accounts: c("accounts"), mails: c("mails"),
		sessions: c("sessions"), messages: c("messages"),
	}, err
}

func read[T any](tx *strictkv.Tx, c *strictkv.Collection, key string) (v T, err error) {
	b, err := tx.Read(c, []byte(key))
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

func write(tx *strictkv.Tx, c *strictkv.Collection, key string, v any) error {
	b, err := json.Marshal(v)
	return errors.Join(err, tx.Write(c, []byte(key), b))
}

func hash(password string, salt []byte) ([]byte, error) {
	return pbkdf2.Key(sha256.New, password, salt, hashRounds, sha256.Size)
}

// signUp makes an account, takes its mail address, and enqueues a welcome, or none of that. If
// somebody has the address, it fails with strictkv.ErrExists.
func (s *service) signUp(ctx context.Context, mail, password string) (id string, err error) {
	a := account{ID: rand.Text(), Mail: mail, Salt: []byte(rand.Text())}
	if a.Hash, err = hash(password, a.Salt); err != nil {
		return "", err
	}
	return a.ID, s.db.Tx(ctx, func(tx *strictkv.Tx) error {
		taken := tx.Insert(s.mails, []byte(mail), []byte(a.ID))
		_, err := s.jobs.EnqueueTx(tx, []byte(a.ID))
		return errors.Join(taken, err, write(tx, s.accounts, a.ID, a))
	})
}

// logIn begins a session, which ends by itself.
func (s *service) logIn(ctx context.Context, mail, password string) (token string, err error) {
	a, err := strictkv.DoView(ctx, s.db, func(tx *strictkv.Tx) (account, error) {
		id, err := tx.Read(s.mails, []byte(mail))
		if err != nil {
			return account{}, err
		}
		return read[account](tx, s.accounts, string(id))
	})
	if err != nil && !errors.Is(err, strictkv.ErrNotFound) {
		return "", err
	}
	hashed, err := hash(password, a.Salt) // whoever is not there takes as long
	if err != nil || subtle.ConstantTimeCompare(hashed, a.Hash) != 1 {
		return "", errors.Join(err, errDenied)
	}
	token = rand.Text()
	end := strictkv.ExpireAt(time.Now().Add(s.lasts))
	return token, s.sessions.Write(ctx, []byte(token), []byte(a.ID), end)
}

// who is the account of a session, with its messages.
func (s *service) who(ctx context.Context, token string) (profile, error) {
	return strictkv.DoView(ctx, s.db, func(tx *strictkv.Tx) (p profile, err error) {
		id, err := tx.Read(s.sessions, []byte(token))
		if errors.Is(err, strictkv.ErrNotFound) {
			return p, errDenied
		} else if err != nil {
			return p, err
		}
		a, err := read[account](tx, s.accounts, string(id))
		p.ID, p.Mail = a.ID, a.Mail
		for m, failed := range tx.Scan(s.messages, strictkv.Prefix([]byte(a.ID+"/"))) {
			p.Messages, err = append(p.Messages, string(m.Value)), errors.Join(err, failed)
		}
		return p, err
	})
}

// work welcomes the account that is a job's payload. What it leaves is written in the transaction
// that completes the job: once.
func (s *service) work(ctx context.Context, j *queue.Job) error {
	return s.db.Tx(ctx, func(tx *strictkv.Tx) error {
		if err := j.CompleteTx(tx); err != nil {
			return err
		}
		a, err := read[account](tx, s.accounts, string(j.Payload))
		key, text := []byte(a.ID+"/"+j.ID), []byte("Welcome, "+a.Mail)
		return errors.Join(err, tx.Insert(s.messages, key, text))
	})
}

// handler answers requests. Each is a transaction or two, and nothing is kept between them.
func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /accounts", answer(withForm(s.signUp)))
	mux.HandleFunc("POST /sessions", answer(withForm(s.logIn)))
	mux.HandleFunc("DELETE /sessions", answer(func(r *http.Request) (any, error) {
		return nil, s.sessions.Delete(r.Context(), []byte(tokenOf(r)))
	}))
	mux.HandleFunc("GET /me", answer(func(r *http.Request) (any, error) {
		return s.who(r.Context(), tokenOf(r))
	}))
	return mux
}

type post func(ctx context.Context, mail, password string) (string, error)

// withForm calls f with what a POST brings.
func withForm(f post) func(r *http.Request) (any, error) {
	return func(r *http.Request) (any, error) {
		var got struct{ Mail, Password string }
		err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, bodyMax)).Decode(&got)
		mail := strings.ToLower(strings.TrimSpace(got.Mail))
		if err != nil || !strings.Contains(mail, "@") || len(got.Password) < passwordMin {
			return nil, errors.Join(err, errBad)
		}
		return f(r.Context(), mail, got.Password)
	}
}

func tokenOf(r *http.Request) string {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return cmp.Or(token, "none") // no key is empty
}

// statuses are those of errors. Any other is the store's: the client may ask again.
var statuses = map[error]int{
	errBad: http.StatusBadRequest, errDenied: http.StatusUnauthorized,
	strictkv.ErrExists: http.StatusConflict, strictkv.ErrInvalidKey: http.StatusBadRequest,
}

// answer makes a handler of a function.
func answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestMax)
		defer cancel()
		v, err := f(r.WithContext(ctx))
		if err == nil {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(v) // the client may be gone
			return
		}
		for target, status := range statuses {
			if errors.Is(err, target) {
				http.Error(w, target.Error(), status)
				return
			}
		}
		http.Error(w, "try again later", http.StatusServiceUnavailable)
	}
}
