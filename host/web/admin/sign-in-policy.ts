/**
 * The form for a solution's sign-in policy. Fields that apply only to the levels `required` and `passkey` are shown
 * only for these.
 */
export function takeOverSignInPolicy(): void {
  const form = document.querySelector<HTMLFormElement>('#sign-in-policy-form')
  const level = form?.querySelector('select')
  const part = form?.querySelector<HTMLElement>('[data-required]')
  if (!form || !level || !part) return
  const show = () => {
    part.hidden = level.value !== 'required' && level.value !== 'passkey'
    // Disable these fields at other levels, so that they are not sent: the API would reject them.
    for (const field of part.querySelectorAll('input')) field.disabled = part.hidden
  }
  const sendPermissions = () => {
    const field = form.querySelector<HTMLInputElement>('input[name=requiredFor]')
    // An empty list would mean that nobody needs a second factor. Without the field, everyone needs one.
    if (field?.value === '[]') field.disabled = true
  }
  show()
  level.addEventListener('change', show)
  // Must run before the document's submit listener sends the form.
  form.addEventListener('submit', () => {
    show()
    sendPermissions()
  })
}
