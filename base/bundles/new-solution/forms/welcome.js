/** Called when the button is clicked: welcome.json sets it as `onAction`. */
function greet(event) {
  const { name, answer } = forms.welcome.elements
  answer.label = i18n.getI18NMessage('welcome.answer', [name.value])
  eventsManager.fireEventListeners(EventType.greeted, [name.value])
}
