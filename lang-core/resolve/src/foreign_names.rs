//! **Library functions by foreign names.** Maps names from NumPy, SciPy, JAX, PyTorch and Julia to
//! library functions. Those libraries use other names, or one function for several of ours. The
//! help for undefined names reads these tables.

use super::suggest::find_entry;

/// Foreign names, and the library function of each.
const LIBRARY_EQUIVALENTS: &[(&[&str], &str)] = &[
    // Random numbers.
    (&["runif", "rand_like", "random_sample"], "rand.uniform"),
    (&["randn", "rnorm", "standard_normal", "randn_like"], "rand.normal"),
    (&["randint", "randi", "random_integers"], "rand.integers"),
    (&["PRNGKey", "PRNG", "default_rng", "RandomState", "MersenneTwister", "seed", "manual_seed"], "rand.key"),
    (&["randperm"], "rand.permutation"),
    (&["randexp", "standard_exponential"], "rand.exponential"),
    // Linear algebra.
    (&["inv", "matinv"], "linalg.inverse"),
    (&["eig", "eigen", "symeig", "eigs", "eigsh"], "linalg.eigh"),
    (&["eigvals"], "linalg.eigvalsh"),
    (&["lstsq", "lsq"], "linalg.lstsq"),
    (&["linsolve", "spsolve"], "linalg.solve"),
    (&["solve_triangular", "trsv"], "linalg.solve_lower"),
    (&["chol", "cho_factor", "potrf"], "linalg.cholesky"),
    (&["cho_solve"], "linalg.cholesky_solve"),
    (&["lu_factor"], "linalg.lu"),
    (&["logabsdet"], "linalg.slogdet"),
    (&["determinant"], "linalg.det"),
    (&["fro", "matrix_norm"], "linalg.frobenius"),
    (&["vector_norm"], "linalg.norm"),
    (&["opnorm"], "linalg.spectral_norm"),
    (&["normalize", "normalise"], "linalg.unit"),
    (&["tr"], "linalg.trace"),
    (&["diagm", "diagflat", "diag_embed", "Diagonal"], "linalg.diag"),
    (&["Symmetric", "Hermitian"], "linalg.symmetric"),
    (&["LowerTriangular"], "linalg.tril"),
    (&["UpperTriangular"], "linalg.triu"),
    (&["matrix_exp"], "linalg.expm"),
    (&["pinvh"], "linalg.pinv"),
    (&["bicgstab", "minres"], "linalg.gmres"),
    (&["conjugate_gradient"], "linalg.cg"),
    (&["power_method"], "linalg.power_iteration"),
    // Statistics and special functions.
    (&["nanmean", "average"], "stats.mean"),
    (&["nanvar", "var"], "stats.variance"),
    (&["std", "stddev", "stdev", "nanstd"], "stats.sd"),
    (&["nanmedian"], "stats.median"),
    (&["percentile", "nanquantile", "nanpercentile"], "stats.quantile"),
    (&["cov"], "stats.covariance"),
    (&["corr", "cor", "corrcoef", "pearsonr"], "stats.correlation"),
    (&["iqr"], "stats.interquartile_range"),
    (&["skew"], "stats.skewness"),
    (&["moment"], "stats.central_moment"),
    (&["zscore", "standardize"], "stats.standardise"),
    (&["logpdf", "norm_logpdf", "dnorm", "normlogpdf"], "stats.normal_logpdf"),
    (&["pnorm", "normcdf", "ndtr"], "stats.normal_cdf"),
    (&["log_ndtr", "normlogcdf"], "stats.normal_logcdf"),
    (&["multivariate_normal", "MvNormal"], "stats.multivariate_normal_logpdf"),
    (&["betaln", "lbeta"], "stats.log_beta"),
    (&["lchoose", "logabsbinomial"], "stats.log_choose"),
    (&["rel_entr", "kl_div"], "stats.relative_entropy"),
    (&["confusion_matrix"], "stats.confusion"),
    // Layers and losses.
    (&["log_sum_exp", "LogSumExp"], "nn.logsumexp"),
    (&["swish", "SiLU"], "nn.silu"),
    (&["Linear"], "nn.dense"),
    (&["mse_loss", "MSELoss", "mean_squared_error"], "nn.mse"),
    (&["l1_loss", "L1Loss", "mean_absolute_error"], "nn.mae"),
    (&["huber_loss", "HuberLoss", "smooth_l1_loss", "SmoothL1Loss"], "nn.huber"),
    (
        &[
            "binary_crossentropy",
            "bce",
            "BCELoss",
            "BCEWithLogitsLoss",
            "binary_cross_entropy_with_logits",
            "sigmoid_binary_cross_entropy",
            "logitbinarycrossentropy",
        ],
        "nn.binary_cross_entropy",
    ),
    (&["crossentropy", "CrossEntropyLoss", "softmax_cross_entropy", "logitcrossentropy"], "nn.cross_entropy"),
    (&["kl_divergence", "KLDivLoss", "kldivergence"], "nn.kl"),
    (&["Conv1d", "conv1d"], "nn.conv1"),
    (&["Conv2d", "conv2d", "Conv"], "nn.conv2"),
    (&["MaxPool1d", "max_pool1d"], "nn.max_pool1"),
    (&["MaxPool2d", "max_pool2d", "max_pool"], "nn.max_pool2"),
    (&["AvgPool1d", "avg_pool1d"], "nn.mean_pool1"),
    (&["AvgPool2d", "avg_pool2d", "avg_pool"], "nn.mean_pool2"),
    (&["BatchNorm1d"], "nn.batch_norm"),
    (&["Embedding", "embedding"], "nn.embed"),
    (&["scaled_dot_product_attention", "dot_product_attention"], "nn.attention"),
    (&["MultiheadAttention", "MultiHeadAttention", "MultiHeadDotProductAttention"], "nn.multi_head"),
    (&["xavier_uniform", "xavier_normal", "glorot_uniform", "glorot_normal"], "nn.glorot"),
    (&["kaiming_uniform", "kaiming_normal", "he_uniform", "he_normal"], "nn.he"),
    (&["LSTMCell"], "nn.lstm"),
    (&["GRUCell"], "nn.gru"),
    // Minimisers and roots.
    (&["minimise", "fmin", "optimize", "optimise"], "optim.minimize"),
    (&["sgd", "SGD"], "optim.gradient_descent"),
    (&["bfgs", "BFGS", "LBFGS", "l_bfgs", "fmin_bfgs", "fmin_l_bfgs_b"], "optim.lbfgs"),
    (&["adamw", "AdamW"], "optim.adam"),
    (&["curve_fit", "leastsq", "lm", "least_squares"], "optim.levenberg_marquardt"),
    (&["fsolve", "nlsolve"], "optim.root"),
    // Differential equations.
    (&["odeint", "ode45", "solve_ivp", "rk45", "RK45", "Dopri5", "Tsit5", "DP5", "diffeqsolve"], "ode.dopri5"),
    (&["runge_kutta"], "ode.rk4"),
    // Signals.
    (&["cumsum"], "signal.cumulative_sum"),
    (&["cumprod"], "signal.cumulative_product"),
    (&["diff"], "signal.differences"),
    (&["interp", "interp1d"], "signal.interpolate"),
    (&["convolve1d", "conv"], "signal.convolve"),
    (&["fftconvolve"], "signal.fft_convolve"),
    (&["fftfreq", "rfftfreq"], "signal.frequencies"),
    (&["periodogram", "psd"], "signal.power_spectrum"),
    (&["angle"], "signal.phases"),
    (&["hanning"], "signal.hann"),
    (&["rolling_mean"], "signal.moving_average"),
    (&["ewm"], "signal.exponential_average"),
];

/// Conditions under which a library function replaces its foreign counterparts above.
const EQUIVALENCE_CONDITIONS: &[(&[&str], &str)] = &[
    (&["linalg.eigh", "linalg.eigvalsh"], "for a symmetric matrix"),
    (&["linalg.solve_lower"], "for a lower triangle, and `linalg.solve_upper` for an upper one"),
    (&["linalg.gmres"], "with the function that multiplies by the matrix"),
    (&["linalg.cg"], "with the function that multiplies by the positive definite matrix"),
    (&["stats.quantile"], "with `q` between 0 and 1"),
    (&["stats.covariance", "stats.correlation"], "for two samples"),
    (&["rand.key"], "with any integer"),
    (&["ode.dopri5"], "with `f(t, x)`, time first"),
];

/// Library functions that share one foreign name, for arguments of different ranks.
const RANK_VARIANTS: &[(&str, &[&str])] = &[
    ("linalg.diag", &["linalg.diagonal"]),
    ("linalg.diagonal", &["linalg.diag"]),
    ("linalg.dot", &["linalg.matvec", "linalg.vecmat", "linalg.matmul"]),
    ("linalg.matmul", &["linalg.matvec", "linalg.vecmat", "linalg.dot"]),
    ("linalg.matvec", &["linalg.matmul", "linalg.vecmat"]),
    ("linalg.vecmat", &["linalg.matmul", "linalg.matvec"]),
    ("linalg.sqnorm", &["linalg.sum_of_squares"]),
    ("linalg.sum_of_squares", &["linalg.sqnorm"]),
    ("linalg.norm", &["linalg.frobenius"]),
    ("linalg.frobenius", &["linalg.norm"]),
    ("linalg.spectral_norm", &["linalg.norm"]),
    ("linalg.norm1", &["linalg.matrix_norm1"]),
    ("linalg.matrix_norm1", &["linalg.norm1"]),
    ("linalg.norm_inf", &["linalg.matrix_norm_inf"]),
    ("linalg.matrix_norm_inf", &["linalg.norm_inf"]),
    ("linalg.solve", &["linalg.solve_matrix"]),
    ("linalg.solve_matrix", &["linalg.solve"]),
    ("linalg.solve_lower", &["linalg.solve_lower_matrix"]),
    ("linalg.solve_lower_matrix", &["linalg.solve_lower"]),
    ("linalg.solve_upper", &["linalg.solve_upper_matrix"]),
    ("linalg.solve_upper_matrix", &["linalg.solve_upper"]),
    ("linalg.lu_solve", &["linalg.lu_solve_matrix"]),
    ("linalg.lu_solve_matrix", &["linalg.lu_solve"]),
    ("linalg.cholesky_solve", &["linalg.cholesky_solve_matrix"]),
    ("linalg.cholesky_solve_matrix", &["linalg.cholesky_solve"]),
    ("signal.convolve", &["signal.convolve2"]),
    ("signal.convolve_valid", &["signal.convolve2_valid"]),
    ("signal.convolve_same", &["signal.convolve2_same"]),
    ("signal.correlate_valid", &["signal.correlate2_valid"]),
    ("stats.mean", &["stats.column_means"]),
    ("stats.standardise", &["stats.standardise_columns"]),
    ("stats.covariance", &["stats.covariance_matrix"]),
    ("stats.correlation", &["stats.correlation_matrix"]),
    ("stats.quantile", &["stats.quantiles"]),
];

/// Returns the condition of a library function, as the end of a sentence; empty if it has none.
pub(super) fn condition_suffix(known: &str) -> String {
    find_entry(EQUIVALENCE_CONDITIONS, known).map_or(String::new(), |condition| format!(", {condition}"))
}

/// Returns the qualified library function for a foreign name.
pub(super) fn library_equivalent(name: &str) -> Option<&'static str> {
    find_entry(LIBRARY_EQUIVALENTS, name).copied()
}

/// Returns the qualified library functions that the user may have intended instead of `known`.
pub fn rank_variants(known: &str) -> &'static [&'static str] {
    RANK_VARIANTS.iter().find(|(name, _)| *name == known).map_or(&[], |(_, all)| all)
}

/// Returns all library names in the tables.
pub fn all_library_names() -> impl Iterator<Item = &'static str> {
    let relatives = RANK_VARIANTS.iter().flat_map(|(name, all)| all.iter().chain([name]).copied());
    let conditions = EQUIVALENCE_CONDITIONS.iter().flat_map(|(names, _)| names.iter().copied());
    LIBRARY_EQUIVALENTS.iter().map(|(_, known)| *known).chain(relatives).chain(conditions)
}
