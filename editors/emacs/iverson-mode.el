;;; iverson-mode.el --- Major mode for Iverson programs  -*- lexical-binding: t -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: languages

;;; Commentary:

;; Colours, comments and indentation for Iverson, and `iverson-lsp' with Eglot:
;;
;;   (add-to-list 'load-path "/path/to/iverson/editors/emacs")
;;   (require 'iverson-mode)
;;   (add-hook 'iverson-mode-hook #'eglot-ensure)
;;
;; The lists of words between the marks are made from the language's tables.

;;; Code:

(require 'url-parse)
(require 'url-util)

(defgroup iverson nil
  "Iverson, a differentiable array language."
  :group 'languages)

(defcustom iverson-server-command '("iverson-lsp")
  "The language server and its arguments."
  :type '(repeat string)
  :group 'iverson)

(defcustom iverson-indent-offset 2
  "The number of columns of an indentation step."
  :type 'integer
  :safe #'integerp
  :group 'iverson)

;; table: words
(defconst iverson-items
  '("as" "def" "do" "import" "in" "let" "type" "where"))
(defconst iverson-generators
  '("for" "⊞"))
(defconst iverson-controls
  '("by" "checkpoint" "else" "fold" "if" "loop" "match" "scan" "then" "while" "with" "yield"))
(defconst iverson-truths
  '("false" "true"))
(defconst iverson-binders
  '("all" "any" "argmax" "argmin" "max" "min" "prod" "rel" "sum" "∀" "∃" "∏" "∑"))
(defconst iverson-types
  '("bool" "f32" "f64" "i64"))
(defconst iverson-derivatives
  '("grad" "hessian" "hvp" "jacobian" "jvp" "jvp2" "value_and_grad" "vjp" "vjp2" "∇"))
(defconst iverson-forms
  '("assert" "dbg" "deriv" "error" "load" "par" "plot" "print" "relation" "reshape" "save" "stop"
    "time"))
(defconst iverson-functions
  '("abs" "acos" "acosh" "argsort" "asin" "asinh" "atan" "atan2" "atanh" "bit_and" "bit_not"
    "bit_or" "bit_xor" "cbrt" "ceil" "cos" "cosh" "digamma" "erf" "erfc" "exp" "expm1" "filter"
    "floor" "hypot" "len" "lgamma" "log" "log1p" "max" "min" "polygamma" "relu" "round"
    "round_to" "shl" "shr" "sigmoid" "sign" "sin" "sinh" "softplus" "sort" "sqrt" "tan" "tanh"
    "trunc" "ushr"))
(defconst iverson-constants
  '("inf" "nan" "pi" "π" "∞"))
;; table end

;; table: symbols
(defconst iverson-operators
  '("!=" "&&" "+=" "->" ".." "//" "<=" "==" ">=" "|>" "||" "!" "%" "*" "+" "-" "/" "<" "=" ">"
    "?" "\\" "^" "|" "¬" "·" "×" "→" "−" "∧" "∨" "≠" "≤" "≥" "⋅"))
;; table end

(defconst iverson--name "[[:alpha:]_][[:alnum:]_']*")

(defun iverson--words (&rest lists)
  "Return a regular expression that matches the words in LISTS as symbols.
Its first group is the word."
  (let ((all (apply #'append lists)) words glyphs)
    (dolist (word all)
      (if (string-match-p "\\`[[:ascii:]]+\\'" word) (push word words) (push word glyphs)))
    (concat "\\(" (and words (regexp-opt words 'symbols))
            (and words glyphs "\\|") (and glyphs (regexp-opt glyphs)) "\\)")))

(defconst iverson-font-lock-keywords
  `((,(concat "^[ \t]*\\(def\\|derivative\\|adjoint\\)[ \t]+\\(" iverson--name "\\)[ \t]*(")
     (1 font-lock-keyword-face) (2 font-lock-function-name-face))
    (,(concat "^[ \t]*\\(type\\)[ \t]+\\(" iverson--name "\\)")
     (1 font-lock-keyword-face) (2 font-lock-type-face))
    ;; A field is a name, whatever it is called.
    (,(concat "[[:alnum:]_')}]\\.\\(" iverson--name "\\)") 1 'default)
    (,(iverson--words iverson-items iverson-controls iverson-generators) 1 font-lock-keyword-face)
    (,(concat (iverson--words iverson-binders) "[ \t\n]+[[:alpha:]_]") 1 font-lock-keyword-face)
    (,(iverson--words iverson-truths iverson-constants) 1 font-lock-constant-face)
    (,(iverson--words iverson-types) 1 font-lock-type-face)
    (,(concat (iverson--words iverson-derivatives iverson-forms iverson-functions) "[ \t]*(")
     1 font-lock-builtin-face))
  "The font-lock keywords of Iverson programs.")

(defvar iverson-mode-syntax-table
  (let ((table (make-syntax-table)))
    (modify-syntax-entry ?- ". 12" table)
    (modify-syntax-entry ?\n ">" table)
    (modify-syntax-entry ?\" "\"" table)
    (modify-syntax-entry ?\\ "\\" table)
    (modify-syntax-entry ?_ "_" table)
    (modify-syntax-entry ?' "_" table)
    (dolist (mark '(?+ ?* ?/ ?% ?^ ?= ?< ?> ?! ?& ?| ?? ?: ?\;))
      (modify-syntax-entry mark "." table))
    table)
  "The syntax table of Iverson programs.")

(defun iverson-indent-line ()
  "Indent the line inside an open bracket, or after a line that ends in `=' or `:'."
  (interactive)
  (let* ((state (save-excursion (syntax-ppss (line-beginning-position))))
         (column
          (save-excursion
            (beginning-of-line)
            (cond
             ((nth 3 state) (current-indentation))
             ((looking-at "[ \t]*\\(?:def\\|type\\|import\\|do\\|derivative\\|adjoint\\|--|\\)\\_>") 0)
             ((nth 1 state)
              (let ((closing (looking-at "[ \t]*[])}]")))
                (goto-char (nth 1 state))
                (+ (current-indentation) (if closing 0 iverson-indent-offset))))
             (t
              (forward-comment (- (point)))
              (if (memq (char-before) '(?= ?:))
                  (+ (current-indentation) iverson-indent-offset)
                (if (bobp) 0 (current-indentation))))))))
    (if (<= (current-column) (current-indentation))
        (indent-line-to column)
      (save-excursion (indent-line-to column)))))

(defvar iverson-imenu-expression
  `((nil ,(concat "^def[ \t]+\\(" iverson--name "\\)") 1)
    ("Types" ,(concat "^type[ \t]+\\(" iverson--name "\\)") 1)
    ("Rules" ,(concat "^\\(?:derivative\\|adjoint\\)[ \t]+\\(" iverson--name "\\)") 1))
  "The Imenu expression of Iverson programs.")

;;;###autoload
(define-derived-mode iverson-mode prog-mode "Iverson"
  "Major mode for Iverson programs."
  (setq-local comment-start "-- "
              comment-end ""
              comment-start-skip "--|?[ \t]*"
              indent-tabs-mode nil
              indent-line-function #'iverson-indent-line
              imenu-generic-expression iverson-imenu-expression
              font-lock-defaults '(iverson-font-lock-keywords)))

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.iv\\'" . iverson-mode))

(defconst iverson-stages '("adjoint" "forward" "ssa" "core" "lifted" "pairs" "pushed" "cost")
  "The views of a definition.")

(defun iverson--definition ()
  "Return the name of the definition at point."
  (save-excursion
    (end-of-line)
    (when (re-search-backward (concat "^def[ \t]+\\(" iverson--name "\\)") nil t)
      (match-string-no-properties 1))))

(declare-function eglot-current-server "eglot")
(declare-function eglot--TextDocumentIdentifier "eglot")
(declare-function jsonrpc-request "jsonrpc")
(defvar auto-revert-verbose)

(defun iverson-show-view (stage)
  "Show a view of the definition at point beside it, and have it follow the edits.
STAGE is one of `iverson-stages', such as its adjoint."
  (interactive (list (completing-read "View: " iverson-stages nil t nil nil "adjoint")))
  (let* ((server (or (eglot-current-server) (user-error "No language server is running for this buffer")))
         (def (or (iverson--definition) (user-error "Point is not in a definition")))
         (source (plist-get (eglot--TextDocumentIdentifier) :uri))
         ;; It is shown here, not by the server's request.
         (arguments (vector source def stage :json-false))
         (answer (jsonrpc-request server :workspace/executeCommand
                                  (list :command "iverson.showView" :arguments arguments)))
         (file (url-unhex-string (url-filename (url-generic-parse-url (plist-get answer :uri)))))
         ;; A view is no program that needs a server.
         (iverson-mode-hook nil)
         (view (find-file-noselect (decode-coding-string file 'utf-8) t)))
    (with-current-buffer view
      (setq-local auto-revert-verbose nil)
      (auto-revert-mode 1))
    (display-buffer view '(nil (inhibit-same-window . t)))))

(defun iverson-show-adjoint ()
  "Show the adjoint of the definition at point beside it, and have it follow the edits."
  (interactive)
  (iverson-show-view "adjoint"))

(defvar eglot-server-programs)
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '(iverson-mode . (lambda (&rest _) iverson-server-command))))

(provide 'iverson-mode)
;;; iverson-mode.el ends here
