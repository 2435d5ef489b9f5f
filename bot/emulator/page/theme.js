// Sets the chosen colours before the first paint; without a choice the system's apply.
const chosen = localStorage.getItem("nod-theme");
if (chosen) document.documentElement.dataset.theme = chosen;
