/** Nobody is signed in, and no other form can be opened, until `security.login` returns true. */
async function signIn(event) {
  const { username, password } = forms.sign_in.elements
  // Checks the platform's users table, which the operator must grant. Attempts count like sign-ins on the login page.
  const user = await security.authenticate(username.value, password.value)
  password.value = ''
  if (user && security.login(username.value, user.uid, user.permissions)) return
  // The message doesn't say what was wrong, so it doesn't reveal which users exist.
  password.error = user ? 'i18n:sign_in.no_permission' : 'i18n:sign_in.wrong'
}
