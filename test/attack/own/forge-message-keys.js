// expect: contained
// effects: {"messages":{"__proto__":"<b>%%error%%</b>","constructor":"{0}{1}{999}","toString":"%%__proto__%%"},"missingKeys":["hasOwnProperty","valueOf","__defineGetter__"]}
// shared: yes
// why: keys and messages that contain prototype keys, placeholders or markup are plain data in the result
function onSolutionOpen(arg, queryParams) {
  i18n.setI18NMessage('__proto__', '<b>%%error%%</b>'); i18n.setI18NMessage('constructor', '{0}{1}{999}'); i18n.setI18NMessage('toString', '%%__proto__%%');
  i18n.setI18NMessage('valueOf', 'x'); i18n.setI18NMessage('valueOf', null);
  var took = ['', 'x'.repeat(201), null, 5, {}].filter(function (k) { try { i18n.setI18NMessage(k, 'x'); return true; } catch (e) { return false; } });
  var known = ['hasOwnProperty', 'valueOf', '__defineGetter__'].filter(function (k) { return i18n.getI18NMessage(k) !== '!' + k + '!'; });
  return JSON.stringify({ escaped: took.length + known.length > 0 || i18n.getI18NMessage('constructor', ['a']) !== 'a{1}{999}' || ({}).error !== undefined, took: took, known: known });
}
