"""Answers to the exercises of notebook 15, worked out by hand."""

GIVEN = {}

RIGHT = {
    "15_1": [509.6, 509.59, 520],  # 3.92 * 130; two stds will do
    "15_2": [lambda s, sigma: s * sigma / (sigma**2 + 10 * s**2) ** 0.5],
    "15_3": [4.69, 4.4, 5.1],  # the net's own; windows of other lengths; first half year against 5 to 10 years
}

WRONG = {
    "15_1": [
        (254.8, "both sides"),
        (666.4, "variances add"),
        (427.7, "one-sided"),
        (470.4, "epistemic part is missing"),
        (196, "the noise is missing"),
        (260, "both sides"),  # one std on each side is half as wide
        (580, "none of"),
        (66248, "take the root"),
    ],
    "15_2": [
        (lambda s, sigma: s / 3.162278, "ignores the noise"),
        (lambda s, sigma: s / 3.316625, "not that of the mean"),
        (lambda s, sigma: sigma / 3.162278, "add that precision, too"),
        (lambda s, sigma: s * sigma / (sigma + 10 * s), "not 1 / std"),
        (lambda s, sigma: (s * sigma) ** 2 / (sigma**2 + 10 * s**2), "take the root"),
        (lambda s, sigma: (sigma**2 + 10 * s**2) / (s * sigma) ** 2, "turn it over"),
        (lambda s, sigma: (sigma**2 + 10 * s**2) ** 0.5 / (s * sigma), "one over it"),
        (lambda s, sigma: s * sigma / (sigma**2 + s**2) ** 0.5, "after one measurement"),
        (lambda s, sigma: s * sigma / (sigma**2 + 100 * s**2) ** 0.5, "ten times squared"),
        (lambda s, sigma: (s**2 * sigma**2 / (sigma**2 + 10 * s**2) + sigma**2) ** 0.5, "its noise was added"),
        (lambda s, sigma: (s**2 + 0.1 * sigma**2) ** 0.5, "knowledge adds precisions"),
        (lambda s, sigma: 30.15, "none of"),
        (30.15, "expected a function"),
    ],
    "15_3": [
        (22, "is that a variance"),
        (0.21, "upside down"),
        (1, "one std for all"),
        (8.85, "the largest noise"),
        (1.89, "the smallest noise"),
        (467 / 43.8, "Change the first cell"),
        (3, "none of"),
    ],
}
