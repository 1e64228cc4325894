/** The form for a solution's sign-in policy: the fields that only `required` and `passkey` have are shown for those levels only. */
export function takeOverSignInPolicy(): void {
  const form = document.querySelector<HTMLFormElement>('#sign-in-policy-form')
  const level = form?.querySelector('select')
  const part = form?.querySelector<HTMLElement>('[data-required]')
  if (!form || !level || !part) return
  const show = () => {
    part.hidden = level.value !== 'required' && level.value !== 'passkey'
    // Disabled fields are not sent, and the API refuses them at other levels.
    for (const field of part.querySelectorAll('input')) field.disabled = part.hidden
  }
  const sendPermissions = () => {
    const field = form.querySelector<HTMLInputElement>('input[name=requiredFor]')
    // An empty list would mean nobody; without the field, everyone needs a second factor.
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
