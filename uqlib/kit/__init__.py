"""What is made from the notebooks for a lecture: the gallery of figures, slides, decks and the site."""
