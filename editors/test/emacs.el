;;; emacs.el --- Emacs with Eglot and the server that IVERSON_LSP names  -*- lexical-binding: t -*-

;;; Commentary:

;;   IVERSON_LSP=target/debug/iverson-lsp timeout 120 emacs --batch -q -l editors/test/emacs.el

;;; Code:

(require 'eglot)
(require 'flymake)
(require 'xref)

;; Report an error in one line.
(setq backtrace-on-error-noninteractive nil)

(defvar test-folder (file-name-directory (or load-file-name buffer-file-name)))

(defun check (good text)
  "Fail with TEXT unless GOOD."
  (message "emacs %s: %s: %s" emacs-version (if good "ok" "FAILED") text)
  (unless good (kill-emacs 1)))

(defun wait (text test)
  "Wait for what TEXT says until TEST returns non-nil, and return that."
  (let ((end (+ (float-time) 30)) found)
    (while (and (not (setq found (ignore-errors (funcall test)))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (check found text)
    found))

(defun ask (method &rest params)
  "The answer of the server to METHOD at point with PARAMS beside the place."
  (jsonrpc-request (eglot--current-server-or-lose) method
                   (append (eglot--TextDocumentPositionParams) params) :timeout 30))

(defun to (text)
  "Move to the beginning of the first TEXT."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun replace (from to)
  "Replace the first FROM by TO."
  (to from)
  (delete-char (length from))
  (insert to)
  (eglot--signal-textDocument/didChange))

(defun times (pattern view)
  "How often PATTERN is in the file of the buffer VIEW as it is now."
  (with-current-buffer view
    (revert-buffer t t t)
    (how-many pattern (point-min) (point-max))))

(defun face-of (text)
  "The colour of the first TEXT."
  (to text)
  (font-lock-ensure)
  (get-text-property (point) 'face))

(let* ((server (or (getenv "IVERSON_LSP") (error "IVERSON_LSP has to name the program of the server")))
       (folder (make-temp-file "iverson-emacs-" t))
       (file (expand-file-name "program.iv" folder)))
  (copy-file (expand-file-name "program.iv" test-folder) file)
  (load (expand-file-name "../emacs/iverson-mode.el" test-folder) nil t)
  (setq iverson-server-command (list (expand-file-name server))
        eglot-sync-connect t
        eglot-send-changes-idle-time 0
        project-find-functions (list (lambda (_) (cons 'transient folder))))
  (find-file file)
  (check (eq major-mode 'iverson-mode) "a .iv file is a program")
  (check (eq (face-of "def conv") 'font-lock-keyword-face) "a word of the language is coloured")
  (check (eq (face-of "conv(x: ") 'font-lock-function-name-face) "and a definition's name")
  (check (eq (face-of "sum j") 'font-lock-keyword-face) "and a binder")
  (check (memq (face-of "--| Valid") '(font-lock-comment-face font-lock-comment-delimiter-face)) "and a comment")
  (to "let y = ")
  (indent-line-to 0)
  (indent-for-tab-command)
  (check (= (current-indentation) 2) "a line after = goes in")
  (set-buffer-modified-p nil)

  (call-interactively #'eglot)
  (wait "the server answers" (lambda () (eglot-current-server)))
  (flymake-start)
  (wait "a good program has no diagnostics" (lambda () (null (flymake-diagnostics))))
  (replace "conv(x, c)" "unknown(x, c)")
  (let ((found (wait "an unknown name is told"
                     (lambda () (flymake-start) (flymake-diagnostics)))))
    (check (string-match-p "unknown" (flymake-diagnostic-text (car found))) "by its name"))
  (replace "unknown(x, c)" "conv(x, c)")
  (wait "and no more when it is mended" (lambda () (flymake-start) (null (flymake-diagnostics))))

  (to "conv(x: ")
  (check (string-match-p "conv" (format "%s" (ask :textDocument/hover))) "a hover tells of the definition")
  (to "conv(x, c)")
  (let ((found (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
    (check (and found (= (xref-location-line (xref-item-location (car found))) 2)) "a use leads to its definition"))
  (check (= (length (ask :textDocument/references :context '(:includeDeclaration t))) 2)
         "a name has its references")
  (forward-char 2)
  (check (string-match-p "conv" (format "%s" (ask :textDocument/completion))) "names are completed")
  (let ((before (buffer-string)))
    (eglot-format-buffer)
    (check (equal (buffer-string) before) "a formatted program stays so"))
  (to "conv(x: ")
  (check (string-match-p "Show the adjoint of `conv`"
                         (format "%s" (jsonrpc-request
                                       (eglot--current-server-or-lose) :textDocument/codeAction
                                       (let ((at (eglot--pos-to-lsp-position)))
                                         (append (list :textDocument (eglot--TextDocumentIdentifier)
                                                       :range (list :start at :end at)
                                                       :context '(:diagnostics []))
                                                 nil)))))
         "an action shows the adjoint")
  (iverson-show-adjoint)
  (let ((view (wait "a command does too" (lambda () (get-buffer "conv.adjoint.iv")))))
    (check (with-current-buffer view (and buffer-read-only (= 1 (how-many "^def conv_adj" (point-min) (point-max)))))
           "as a file that is only read")
    (replace "def conv(x: " "def conv(signal: ")
    (replace "x[i + j]" "signal[i + j]")
    (wait "which follows the edits" (lambda () (< 0 (times "signal" view))))
    (replace "signal[i + j]" "signal[i + ")
    (wait "and says so while there is none" (lambda () (= 1 (times "\\`-- outdated: " view))))
    (replace "signal[i + " "x[i + j]")
    (replace "def conv(signal: " "def conv(x: ")
    (wait "until it is mended" (lambda () (= 0 (times "signal\\|before an edit" view)))))
  (to "conv(x: ")
  (eglot-rename "convolve")
  (check (= 2 (how-many "\\_<convolve\\_>" (point-min) (point-max))) "a name is renamed in all places")
  (check (imenu--make-index-alist t) "definitions are listed")

  (let ((process (jsonrpc--process (eglot-current-server))))
    (eglot-shutdown (eglot-current-server))
    (wait "the server ends" (lambda () (not (process-live-p process)))))
  (message "emacs %s: all good" emacs-version)
  (kill-emacs 0))

;;; emacs.el ends here
