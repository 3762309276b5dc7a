;;; emacs.el --- Test of Emacs with the Iverson language server  -*- lexical-binding: t -*-

;;; Commentary:

;; Emacs test: runs iverson-mode and Eglot with the language server that IVERSON_LSP names:
;;
;;   IVERSON_LSP=target/debug/iverson-lsp timeout 120 emacs --batch -q -l editors/test/emacs.el

;;; Code:

(require 'eglot)
(require 'flymake)
(require 'xref)

;; Emacs reports an error in one line, without a backtrace.
(setq backtrace-on-error-noninteractive nil)

(defvar test-folder (file-name-directory (or load-file-name buffer-file-name)))

(defun check (condition description)
  "Log the check DESCRIPTION.  End Emacs with an error if CONDITION is nil."
  (message "emacs %s: %s: %s" emacs-version (if condition "ok" "FAILED") description)
  (unless condition (kill-emacs 1)))

(defun wait-until (description condition)
  "Wait until the function CONDITION returns non-nil, and return its value.
DESCRIPTION is the message of the check."
  (let ((end (+ (float-time) 30)) value)
    (while (and (not (setq value (ignore-errors (funcall condition)))) (< (float-time) end))
      (accept-process-output nil 0.05))
    (check value description)
    value))

(defun request (method &rest params)
  "Send the request METHOD at point, with additional PARAMS, and return its result."
  (jsonrpc-request (eglot--current-server-or-lose) method
                   (append (eglot--TextDocumentPositionParams) params) :timeout 30))

(defun go-to (text)
  "Move point to the beginning of the first occurrence of TEXT."
  (goto-char (point-min))
  (search-forward text)
  (goto-char (match-beginning 0)))

(defun replace-first (from to)
  "Replace the first occurrence of FROM by TO."
  (go-to from)
  (delete-char (length from))
  (insert to)
  (eglot--signal-textDocument/didChange))

(defun count-in-view (pattern view)
  "Reload the buffer VIEW from its file, and count the matches of PATTERN."
  (with-current-buffer view
    (revert-buffer t t t)
    (how-many pattern (point-min) (point-max))))

(defun face-of (text)
  "Return the face at the beginning of the first occurrence of TEXT."
  (go-to text)
  (font-lock-ensure)
  (get-text-property (point) 'face))

(let* ((server (or (getenv "IVERSON_LSP") (error "IVERSON_LSP must name the executable of the language server")))
       (folder (make-temp-file "iverson-emacs-" t))
       (file (expand-file-name "program.iv" folder)))
  (copy-file (expand-file-name "program.iv" test-folder) file)
  (load (expand-file-name "../emacs/iverson-mode.el" test-folder) nil t)
  (setq iverson-server-command (list (expand-file-name server))
        eglot-sync-connect t
        eglot-send-changes-idle-time 0
        project-find-functions (list (lambda (_) (cons 'transient folder))))
  (find-file file)
  (check (eq major-mode 'iverson-mode) "a .iv file opens in iverson-mode")
  (check (eq (face-of "def conv") 'font-lock-keyword-face) "the keyword `def` has the keyword face")
  (check (eq (face-of "conv(x: ") 'font-lock-function-name-face)
         "the name of a definition has the function name face")
  (check (eq (face-of "sum j") 'font-lock-keyword-face) "the binder `sum` has the keyword face")
  (check (memq (face-of "--| Valid") '(font-lock-comment-face font-lock-comment-delimiter-face))
         "documentation has a comment face")
  (go-to "let y = ")
  (indent-line-to 0)
  (indent-for-tab-command)
  (check (= (current-indentation) 2) "the line after `=` has an indentation of two columns")
  (set-buffer-modified-p nil)

  (call-interactively #'eglot)
  (wait-until "Eglot connects to the language server" (lambda () (eglot-current-server)))
  (flymake-start)
  (wait-until "a correct program has no diagnostics" (lambda () (null (flymake-diagnostics))))
  (replace-first "conv(x, c)" "unknown(x, c)")
  (let ((diagnostics (wait-until "an unknown name causes a diagnostic"
                                 (lambda () (flymake-start) (flymake-diagnostics)))))
    (check (string-match-p "unknown" (flymake-diagnostic-text (car diagnostics)))
           "the diagnostic contains the unknown name"))
  (replace-first "unknown(x, c)" "conv(x, c)")
  (wait-until "a corrected program has no diagnostics"
              (lambda () (flymake-start) (null (flymake-diagnostics))))

  (go-to "conv(x: ")
  (check (string-match-p "conv" (format "%s" (request :textDocument/hover)))
         "the hover of a definition contains its name")
  (go-to "conv(x, c)")
  (let ((definitions (xref-backend-definitions 'eglot (xref-backend-identifier-at-point 'eglot))))
    (check (and definitions (= (xref-location-line (xref-item-location (car definitions))) 2))
           "Xref finds the definition of a call"))
  (check (= (length (request :textDocument/references :context '(:includeDeclaration t))) 2)
         "a references request returns the definition and its call")
  (forward-char 2)
  (check (string-match-p "conv" (format "%s" (request :textDocument/completion)))
         "completion suggests the definition `conv`")
  (let ((before (buffer-string)))
    (eglot-format-buffer)
    (check (equal (buffer-string) before) "formatting leaves a formatted program unchanged"))
  (go-to "conv(x: ")
  (check (string-match-p "Show the adjoint of `conv`"
                         (format "%s" (jsonrpc-request
                                       (eglot--current-server-or-lose) :textDocument/codeAction
                                       (let ((at (eglot--pos-to-lsp-position)))
                                         (append (list :textDocument (eglot--TextDocumentIdentifier)
                                                       :range (list :start at :end at)
                                                       :context '(:diagnostics []))
                                                 nil)))))
         "the code actions of a definition include \"Show the adjoint\"")
  (iverson-show-adjoint)
  (let ((view (wait-until "the command iverson-show-adjoint opens the adjoint view"
                          (lambda () (get-buffer "conv.adjoint.iv")))))
    (check (with-current-buffer view (and buffer-read-only (= 1 (how-many "^def conv_adj" (point-min) (point-max)))))
           "the adjoint view is read-only and contains one definition of the adjoint")
    (replace-first "def conv(x: " "def conv(signal: ")
    (replace-first "x[i + j]" "signal[i + j]")
    (wait-until "the adjoint view follows an edit of a parameter name"
                (lambda () (< 0 (count-in-view "signal" view))))
    (replace-first "signal[i + j]" "signal[i + ")
    (wait-until "the adjoint view starts with a note while the program has an error"
                (lambda () (= 1 (count-in-view "\\`-- outdated: " view))))
    (replace-first "signal[i + " "x[i + j]")
    (replace-first "def conv(signal: " "def conv(x: ")
    (wait-until "the adjoint view follows the corrected program"
                (lambda () (= 0 (count-in-view "signal\\|outdated" view)))))
  (go-to "conv(x: ")
  (eglot-rename "convolve")
  (check (= 2 (how-many "\\_<convolve\\_>" (point-min) (point-max)))
         "a rename changes the definition and its call")
  (check (imenu--make-index-alist t) "Imenu lists the definitions")

  (let ((process (jsonrpc--process (eglot-current-server))))
    (eglot-shutdown (eglot-current-server))
    (wait-until "the language server stops" (lambda () (not (process-live-p process)))))
  (message "emacs %s: all checks passed" emacs-version)
  (kill-emacs 0))

;;; emacs.el ends here
