select e'a\'b', $tag$ ; $tag$, x'ab', "q""w", 1.5e-3, 0xFF /* a /* b */ c */ -- x
;;