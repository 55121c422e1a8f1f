// Before the first paint: the theme that was chosen, or the system's. The
// application follows from then on (src/app/theme.ts).
(function () {
  var dark = window.matchMedia('(prefers-color-scheme: dark)').matches
  var kept = null
  try { kept = localStorage.getItem('holdfast.theme') } catch (e) { /* storage is closed: the system's */ }
  document.documentElement.dataset.theme = kept === 'light' || kept === 'dark' ? kept : dark ? 'dark' : 'light'
})()
