// Light or dark as the reader's system says; D changes it. On a phone held upright the slides are upright, too.
const root = document.documentElement;
function theme(name) {
  root.dataset.theme = name;
  for (const image of document.querySelectorAll("img[data-dark]")) {
    image.dataset.light ??= image.src;
    image.src = image.dataset[name];
  }
}
function shape() {
  const preview = parent !== window; // the speaker's view shows slides in small frames of any shape
  const tall = !preview && innerHeight > innerWidth;
  document.querySelector(".reveal").classList.toggle("tall", tall);
  return tall ? { width: 540, height: 1150 } : { width: 1120, height: 630 };
}
function start() {
  const wish = matchMedia("(prefers-color-scheme: dark)");
  theme(wish.matches ? "dark" : "light");
  wish.addEventListener("change", () => theme(wish.matches ? "dark" : "light"));
  addEventListener("resize", () => Reveal.configure(shape()));
  Reveal.initialize({
    ...shape(), margin: 0, center: false, display: "flex", hash: true, fragmentInURL: true, controls: false,
    slideNumber: true, transition: "none", backgroundTransition: "none", scrollActivationWidth: null,
    keyboard: { 68: () => theme(root.dataset.theme === "dark" ? "light" : "dark") }, plugins: [RevealNotes],
  });
}
MathJax = {
  options: { enableMenu: false },
  svg: { fontCache: "local", scale: 0.92 },
  startup: { pageReady: () => MathJax.startup.defaultPageReady().then(start) },
};
