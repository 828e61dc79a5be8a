/** Dark or light, before anything is drawn: as the reader chose on another page, else as the system says. */

const chosen = localStorage.getItem('samekey-look');
if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset['look'] = chosen;
document.documentElement.classList.add('scripted');
