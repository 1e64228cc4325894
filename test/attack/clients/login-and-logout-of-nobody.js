// expect: contained
// A client of a solution without a sign-in: no user may be signed in.
// shows: nobody
function attack() {
  const did = security.login('admin', '1', ['Administrators', 'Users'])
  const { said } = forms.main.elements
  said.label = did || security.getUserName() !== null ? 'ESCAPED' : 'nobody'
}
