/** Until `security.login` says true nobody is signed in, and no other form can be reached. */
async function signIn(event) {
  const { username, password } = forms.sign_in.elements
  // Asks the platform's users table, which the operator has to grant. Attempts are counted as at the login page.
  const user = await security.authenticate(username.value, password.value)
  password.value = ''
  if (user && security.login(username.value, user.uid, user.permissions)) return
  // Says nothing about what was wrong: not to everybody whether there is such a user.
  password.error = user ? 'i18n:sign_in.no_permission' : 'i18n:sign_in.wrong'
}
