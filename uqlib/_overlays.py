"""A figure in steps, for slides: the parts that `plotting` has named come one after the other, and nothing moves."""

from collections.abc import Iterable, Sequence

from matplotlib.artist import Artist
from matplotlib.figure import Figure


def named(group: str, artists: Iterable[Artist]) -> None:
    """Give artists the name of what they show, unlike any other in the figure: by it `reveal` finds them."""
    for artist in artists:
        ax = artist.axes
        artist.set_gid(f"{group}-{ax.figure.axes.index(ax)}-{ax.get_children().index(artist)}")


def reveal(figure: Figure, steps: Sequence[str], count: int) -> None:
    """Show the first `count` of the named parts of a figure and hide the later ones; nothing moves.

    Parts are what `plotting` draws: data, mean, total and so on, with their legend entries. What is none of `steps`
    stays visible, but for what would speak of parts that are still to come: a panel beside the first waits until it
    has more than the data to show, and so does a panel's title. Raises ValueError for a step that the figure does not
    have; those that it has are listed.
    """
    parts = {}
    for artist in figure.findobj(lambda artist: artist.get_gid()):
        parts.setdefault(artist.get_gid().split("-")[0], []).append(artist)
    for place, step in enumerate(steps):
        if step not in parts:
            raise ValueError(f"steps: this figure has no {step!r}; it has {', '.join(sorted(parts))}")
        for artist in parts[step]:
            artist.set_visible(place < count)
    for place, ax in enumerate(figure.axes):
        own = {step for step in steps if any(artist.axes is ax for artist in parts[step])}
        bare = bool(own - {"data"}) and not own & set(steps[:count]) - {"data"}
        ax.set_visible(not (place and bare))
        for title in (ax.title, ax._left_title, ax._right_title):  # the style decides which one is used
            title.set_visible(not bare)
        if legend := ax.get_legend():
            drawn = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
            for mark, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                source = drawn.get(text.get_text())  # bars and error bars are containers: no parts of ours
                seen = source.get_visible() if isinstance(source, Artist) else True
                mark.set_visible(seen)
                text.set_visible(seen)
