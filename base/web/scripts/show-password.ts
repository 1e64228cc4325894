/** Handles the buttons that show the password in password fields. Without scripts, these buttons stay hidden. */
export function takeOverShownPasswords(): void {
  for (const toggle of document.querySelectorAll<HTMLElement>('.toggle[data-show]')) {
    const field = document.getElementById(toggle.getAttribute('aria-controls') ?? '')
    if (!(field instanceof HTMLInputElement)) continue
    const setShown = (isShown: boolean) => {
      field.type = isShown ? 'text' : 'password'
      toggle.classList.toggle('shows', isShown)
      toggle.title = (isShown ? toggle.dataset.hide : toggle.dataset.show) ?? ''
      toggle.setAttribute('aria-label', toggle.title)
    }
    setShown(false)
    toggle.hidden = false
    toggle.addEventListener('click', () => setShown(field.type === 'password'))
    // Hide the password again before it is sent, because browsers offer to store it only if the field is a password
    // field.
    field.form?.addEventListener('submit', () => setShown(false))
  }
}
