"""Golden values of programs/std: moments, quantiles, densities, by scipy.stats."""

import mpmath as mp
import numpy as np
import scipy.special
from scipy import stats

from registry import golden


@golden("std/moments")
def moments():
    i, j = np.ogrid[:11, :3]
    table = (i * i + 3 * i * j + 2 * j) % 17 - i / 4
    x, y = table[:, 0], table[:, 2]
    w = 1.0 + np.arange(11) % 3

    def of(c):
        sample = stats.describe(c)
        return [
            sample.mean,
            np.var(c),
            sample.variance,
            np.std(c),
            np.std(c, ddof=1),
            stats.skew(c),
            stats.kurtosis(c),
            stats.moment(c, 5),
            stats.iqr(c),
        ]

    return (
        [of(c) for c in table.T],
        (np.average(x, weights=w), np.cov(x, aweights=w, ddof=0)),
        np.quantile(x, [0, 0.1, 0.333, 0.9, 1]),
        (np.median(x), np.median(x[:10])),
        (np.cov(x, y)[0, 1], stats.pearsonr(x, y).statistic),
        np.cov(table, rowvar=False),
        np.corrcoef(table, rowvar=False),
        stats.zscore(table),
        (2.0, 7.0),
        [[1, 1, 0], [0, 1, 0], [1, 0, 2]],
        (np.nan, 0.0),
        [
            float(mp.log(mp.binomial(10**12, 2))),
            float(mp.log(mp.binomial(1000, 500))),
            float(mp.log(mp.beta(10**12, 0.5))),
            float(mp.log(mp.beta(30.5, 40.25))),
        ],
    )


@golden("std/distributions")
def distributions():
    points = np.array([-2.5, -1.0, 0.0, 0.25, 0.5, 1.0, 1.75, 6.0, 40.0])
    k = np.arange(-1, 8)
    mean, covariance = [0.5, -1.0, 2.0], [[2.0, 0.5, -0.25], [0.5, 1.0, 0.75], [-0.25, 0.75, 1.5]]
    i, j = np.ogrid[:4, :3]
    rows = i * j - i / 2
    normal = stats.norm(0.5, 1.5)
    several = stats.multivariate_normal(mean, covariance)
    sign = np.where(k % 2 == 0, 1, -1)
    return (
        [
            normal.logpdf(points),
            stats.lognorm(0.75, scale=np.exp(0.5)).logpdf(points),
            stats.expon(scale=1 / 2.5).logpdf(points),
            stats.gamma(2.5, scale=1 / 1.5).logpdf(points),
            stats.gamma(1.0, scale=1 / 1.5).logpdf(points),
            stats.gamma(0.5, scale=1 / 3.0).logpdf(points),
            stats.beta(2.0, 3.5).logpdf(points),
            stats.beta(1.0, 1.0).logpdf(points),
            stats.t(3.5, 0.5, 2.0).logpdf(points),
            stats.cauchy(0.5, 2.0).logpdf(points),
            stats.laplace(0.5, 2.0).logpdf(points),
            stats.logistic(0.5, 0.25).logpdf(points),
            stats.uniform(-1.0, 2.5).logpdf(points),
        ],
        [
            stats.bernoulli(0.3).logpmf(k % 2 == 0),
            scipy.special.log_expit(sign * (k - 3.0)),
            stats.binom(6, 0.3).logpmf(k),
            stats.binom(6, 1.0).logpmf(k),
            stats.poisson(2.5).logpmf(k),
            stats.poisson(0.0).logpmf(k),
            stats.nbinom(2.5, 0.4).logpmf(k),
            stats.geom(0.4, loc=-1).logpmf(k),
            scipy.special.log_softmax(points)[np.maximum(k, 0)],
        ],
        normal.cdf(-points),
        (several.logpdf(rows[2]), several.logpdf(rows).sum()),
        (normal.logpdf(points).sum(), stats.poisson(2.5).logpmf([3, 0, 5]).sum()),
        [
            stats.dirichlet([1.5, 2.0, 0.5]).logpdf([0.2, 0.3, 0.5]),
            np.log(scipy.special.comb(40, 17, exact=True)),
            scipy.special.betaln(2.5, 0.25),
        ],
    )
