"""Characters that a reader or a layer may take for others: data for the scans of `_fence.py`, which decides.

LOOKALIKES is generous on purpose: one wrong entry costs a visible escape in a text that spells the whole word,
one missing entry lets a lookalike stand. A test walks every code point and says what is missing.
"""

from typing import Final

# Every character beyond ASCII that reads as a letter of the marker word, alone or among others: its compatibility
# decomposition or case folding holds the letter, or another script or style writes it so. The idea, and most pairs
# of the second kind, are those of Unicode's confusable characters (UTS #39); strokes, hooks, turned and small-capital
# letters, enclosed letters, regional indicators and tag characters are added.
LOOKALIKES: Final[dict[str, str]] = {
    "z": (
        "ŹźŻżŽžƵƶǄǅǆǱǲǳȤȥɀʐʑΖζᏃᙆᴢᵶᶎᶻᶼᶽẐẑẒẓẔẕℤℨ⒵Ⓩⓩ"
        "ⱫⱬⱿ㎐㎑㎒㎓㎔ꓜꟆꮓＺｚ𐋵𑢤𑢩𑣄𑣉𑣥𝐙𝐳𝑍𝑧𝒁𝒛𝒵𝓏𝓩𝔃𝔷𝕫𝖅𝖟𝖹𝗓𝗭𝘇𝘡𝘻𝙕"
        "𝙯𝚉𝚣𝚭𝛇𝛧𝜁𝜡𝜻𝝛𝝵𝞕𝞯🄩🄮🅉🅩🆉🇿\U000e005a\U000e007a"
    ),
    "u": (
        "µÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưƱƲǓǔǕǖǗǘǙǚǛǜȔȕȖȗʊ"
        "ʋʯΎΜΥΫΰμυϋύϒϓϔЏЦцџՄՍմսሀሆᑌᘮᘴᴜᴝᵁᵘᵙᵤᵾᶙᶷᶸᶹṲṳ"
        "ṴṵṶṷṸṹṺṻỤụỦủỨứỪừỬửỮữỰựὐὑὒὓὔὕὖὗὙὛὝὟὺύῠῡῢΰ"
        "ῦῧῨῩῪΎ℆℧∪⋃⒰Ⓤⓤ㍳㍺㎂㎌㎍㎕㎛㎲㎶㎼ꓴꞞꞟꞸꞹꭎꭒꭟﬓﬔﬕﬗＵｕ𐓎𐓶𑢸"
        "𑣘𖽂𝐔𝐮𝑈𝑢𝑼𝒖𝒰𝓊𝓤𝓾𝔘𝔲𝕌𝕦𝖀𝖚𝖴𝗎𝗨𝘂𝘜𝘶𝙐𝙪𝚄𝚞𝚳𝚼𝛍𝛖𝛭𝛶𝜇𝜐𝜧𝜰𝝁𝝊"
        "𝝡𝝪𝝻𝞄𝞛𝞤𝞵𝞾🄤🅄🅤🆄🇺\U000e0055\U000e0075"
    ),
    "p": (
        "ÞþƤƥƿǷΡρϱϷϸϼРрҎҏᏢᑭᣖᴘᴩᴾᵖᵨᵱᵽᶈṔṕṖṗῤῥῬₚ℗℘ℙ⍴⒫"
        "ⓅⓟⱣⲢⲣ㉐㍱㍶㎀㎊㎩㎪㎫㎬㎰㎴㎺㏋㏗㏘㏙㏚ꓑꝐꝑꝒꝓꝔꝕꟼꮲＰｐ𐊕𐓄𐓬𝐏𝐩𝑃𝑝"
        "𝑷𝒑𝒫𝓅𝓟𝓹𝔓𝔭𝕡𝕻𝖕𝖯𝗉𝗣𝗽𝘗𝘱𝙋𝙥𝙿𝚙𝚸𝛒𝛠𝛲𝜌𝜚𝜬𝝆𝝔𝝦𝞀𝞎𝞠𝞺𝟈🄟🄿🅎🅟"
        "🅿🆊🇵\U000e0050\U000e0070"
    ),
    "q": ("ɊɋʠԚԛԳԶգզᶐℚ⒬Ⓠⓠⵕ㏃ꝖꝗꝘꝙꞯꟴＱｑ𐞥𝐐𝐪𝑄𝑞𝑸𝒒𝒬𝓆𝓠𝓺𝔔𝔮𝕢𝕼𝖖𝖰𝗊𝗤𝗾𝘘𝘲𝙌𝙦𝚀𝚚🄠🅀🅠🆀🇶\U000e0051\U000e0071"),
    "r": (
        "®ŔŕŖŗŘřƦȐȑȒȓɌɍɹɺɻɼɽɾɿʀʁʳʴʵʶΓγЃГЯгяѓҐґҒғՌ"
        "ռᎡᎱᏒᖇᣴᴙᴚᴦᴿᵞᵣᵧᵲᵳᶉṘṙṚṛṜṝṞṟ₨ℛℜℝ℞℟℩ℽℾ⒭ⓇⓡⱤⱹⲄⲅ"
        "㋍㍴㎭㎮㎯㏚㏛ꓣꝚꝛꞂꞃꞦꞧꭆꭇꭈꭉꭋꭌꭨꭱꮁꮢＲｒ𐒴𐓜𐞦𐞧𐞨𐞩𐞪𖼵𝈖𝐑𝐫𝑅𝑟𝑹"
        "𝒓𝓇𝓡𝓻𝔯𝕣𝕽𝖗𝖱𝗋𝗥𝗿𝘙𝘳𝙍𝙧𝚁𝚛𝚪𝛄𝛤𝛾𝜞𝜸𝝘𝝲𝞒𝞬𝼈𝼕𝼖🄡🄬🅁🅡🅬🆁🇷\U000e0052"
        "\U000e0072"
    ),
    "k": (
        "ĶķĸƘƙǨǩʞΚκϏϗϰЌКкќҚқҜҝҞҟҠҡӃӄԞԟᏦᛕᴋᴷᵏᶄḰḱḲḳḴ"
        "ḵₖ₭K⒦ⓀⓚⱩⱪⲔⲕⳤ㎄㎅㎉㎏㎑㎘㎞㎢㎦㎪㎸㎾㏀㏆㏍㏎㏏ꓗꝀꝁꝂꝃꝄꝅꞢꞣꞰꮶ"
        "Ｋｋ𐔘𝐊𝐤𝐾𝑘𝑲𝒌𝒦𝓀𝓚𝓴𝔎𝔨𝕂𝕜𝕶𝖐𝖪𝗄𝗞𝗸𝘒𝘬𝙆𝙠𝙺𝚔𝚱𝛋𝛞𝛫𝜅𝜘𝜥𝜿𝝒𝝟𝝹"
        "𝞌𝞙𝞳𝟆𝼃𝼐🄚🄺🅚🅺🇰\U000e004b\U000e006b"
    ),
}

# The inside of a character class: what a layer that normalises (NFKC), lower-cases and drops the invisible would drop,
# or turn into a letter, a digit or a sign of a control token. Beyond the basic plane whole ranges, because a search
# would compare single ones one by one; what does not change costs nothing.
CHANGING: Final = (
    "\u00aa\u00ad\u00b2\u00b3\u00b9\u00ba\u00bc-\u00be\u0130\u0132\u0133\u013f\u0140\u0149\u017f"
    "\u01c4-\u01cc\u01f1-\u01f3\u02b0\u02b2\u02b3\u02b7\u02b8\u02e1-\u02e3\u034f\u0600-\u0605"
    "\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u1d2c\u1d2e\u1d30"
    "\u1d31\u1d33-\u1d3a\u1d3c\u1d3e-\u1d43\u1d47-\u1d49\u1d4d\u1d4f\u1d50\u1d52\u1d56-\u1d58"
    "\u1d5b\u1d62-\u1d65\u1d9c\u1da0\u1dbb\u1e9a\u200b-\u200f\u202a-\u202e\u2060-\u2071"
    "\u2074-\u2079\u207c\u207f-\u2089\u208c\u2090-\u2093\u2095-\u209c\u20a8\u2100-\u2103\u2105"
    "\u2106\u2109-\u210e\u2110-\u2113\u2115\u2116\u2119-\u211d\u2120-\u2122\u2124\u2128\u212a"
    "\u212c\u212d\u212f-\u2131\u2133\u2134\u2139\u213b\u2145-\u2149\u2150-\u217f\u2189"
    "\u2460-\u24ea\u2a74-\u2a76\u2c7c\u2c7d\u3164\u3250-\u325f\u32b1-\u32cf\u3358-\u337a"
    "\u3380-\u33ff\ua7f2-\ua7f4\ufb00-\ufb06\ufe00-\ufe0f\ufe13\ufe33\ufe34\ufe47\ufe48"
    "\ufe4d-\ufe4f\ufe55\ufe64-\ufe66\ufeff\uff02\uff0f-\uff1a\uff1c-\uff1e\uff21-\uff3b\uff3d"
    "\uff3f\uff41-\uff5a\uff5c\uffa0\ufff0-\ufffb\U00010280-\U0001f2ff\U0001fbf0-\U0001fbf9"
    "\U000e0000-\U000e0fff"
)
