function onShow(firstShow, event) {
  const values = [security.getUserName(), security.getUserPermissions().join(', ')]
  forms.welcome.elements.greeting.label = i18n.getI18NMessage('welcome.greeting', values)
}
